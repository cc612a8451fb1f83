<?php

declare(strict_types=1);

namespace Fairlock;

/** The lock is not held any more, or this process cannot be sure that it is. */
final class LostHold extends FairlockException
{
}
