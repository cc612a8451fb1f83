<?php

declare(strict_types=1);

namespace Fairlock;

/** Another request ended the wait: CANCEL, CLIENT UNBLOCK, or a newer request of this owner. */
final class WaitEnded extends FairlockException
{
}
