<?php

declare(strict_types=1);

namespace Fairlock;

/** The wait would never end. The text names the cycle, or the hold of this process. */
final class Deadlock extends FairlockException
{
}
