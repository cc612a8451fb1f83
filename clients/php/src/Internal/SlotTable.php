<?php

declare(strict_types=1);

namespace Fairlock\Internal;

/**
 * Which nodes of a fleet of several partitions lead which hash slots, as far as is known.
 *
 * @internal
 */
final class SlotTable
{
    private const SLOTS = 16_384;

    /** @var list<array{int, int, Address}> */
    private array $ranges = [];
    /** @var array<string, Address> */
    private array $nodes = [];
    private bool $isOutdated = true;

    /** @param list<Address> $seeds */
    public function __construct(array $seeds)
    {
        $this->noteNodes($seeds);
    }

    /** Returns the hash slot of a key: only what is in {...} counts, if there is such a part. */
    public static function slotOf(string $key): int
    {
        $open = strpos($key, '{');
        if ($open !== false) {
            $close = strpos($key, '}', $open);
            if ($close !== false && $close > $open + 1) {
                $key = substr($key, $open + 1, $close - $open - 1);
            }
        }
        $sum = 0;
        for ($index = 0, $length = strlen($key); $index < $length; $index++) {
            $sum ^= ord($key[$index]) << 8;
            for ($bit = 0; $bit < 8; $bit++) {
                $sum = ($sum & 0x8000) !== 0 ? ($sum << 1) ^ 0x1021 : $sum << 1;
            }
            $sum &= 0xffff;
        }
        return $sum % self::SLOTS;
    }

    /** Returns whether the nodes must be asked before the next request. */
    public function isOutdated(): bool
    {
        return $this->isOutdated;
    }

    /** Returns who leads a slot, or null. */
    public function leader(int $slot): ?Address
    {
        foreach ($this->ranges as [$first, $last, $leader]) {
            if ($slot >= $first && $slot <= $last) {
                return $leader;
            }
        }
        return null;
    }

    /**
     * Returns all known nodes. The one that failed comes last, because it may take a time-out.
     *
     * @return list<Address>
     */
    public function nodes(?Address $failed): array
    {
        $nodes = $this->nodes;
        shuffle($nodes);
        usort($nodes, static fn (Address $one, Address $other): int =>
            ((string) $one === (string) $failed) <=> ((string) $other === (string) $failed));
        return $nodes;
    }

    /** Takes note of the reply to CLUSTER SLOTS. */
    public function learn(mixed $reply, Address $asked): void
    {
        $ranges = [];
        $nodes = [];
        foreach (is_array($reply) ? $reply : [] as $row) {
            $addresses = array_map(
                static fn (array $node): Address =>
                    $asked->sibling((string) $node[0], (int) $node[1]),
                array_slice($row, 2),
            );
            if ($addresses !== []) {
                $ranges[] = [(int) $row[0], (int) $row[1], $addresses[0]];
                array_push($nodes, ...$addresses);
            }
        }
        $this->ranges = $ranges;
        $this->noteNodes($nodes);
        $this->isOutdated = false;
    }

    /** Takes note of MOVED, which names the leader of a slot, and so of its partition. */
    public function move(int $slot, Address $leader): void
    {
        foreach ($this->ranges as $index => [$first, $last]) {
            if ($slot >= $first && $slot <= $last) {
                $this->ranges[$index][2] = $leader;
            }
        }
        $this->noteNodes([$leader]);
    }

    /** Makes the next request ask the nodes again. */
    public function doubt(): void
    {
        $this->isOutdated = true;
    }

    /** @param list<Address> $nodes */
    private function noteNodes(array $nodes): void
    {
        foreach ($nodes as $node) {
            $this->nodes[(string) $node] = $node;
        }
    }
}
