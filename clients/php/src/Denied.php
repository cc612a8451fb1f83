<?php

declare(strict_types=1);

namespace Fairlock;

use Fairlock\Internal\Text;

/** The lock was not granted at once, or not until the wait was over. */
final class Denied extends FairlockException
{
    /**
     * @param Explanation  $explanation who holds the lock, and how long a wait may take
     * @param list<string> $keys        without the prefix of the client
     * @param float|null   $wait        how long the wait lasted at most, in seconds
     */
    public function __construct(
        public readonly Explanation $explanation,
        public readonly array $keys,
        public readonly ?float $wait,
    ) {
        $when = $wait > 0 ? sprintf(' in %s s', $wait) : '';
        $key = $explanation->key;
        $which = count($keys) > 1 && $key !== null ? ' (' . Text::shown($key) . ')' : '';
        parent::__construct(Text::names($keys) . " not granted$when: $explanation$which");
    }
}
