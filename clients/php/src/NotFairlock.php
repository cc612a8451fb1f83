<?php

declare(strict_types=1);

namespace Fairlock;

/** The server does not know the commands of fairlock. It may be a Redis server. */
final class NotFairlock extends FairlockException
{
}
