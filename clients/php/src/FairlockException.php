<?php

declare(strict_types=1);

namespace Fairlock;

/** The base class of the exceptions of this library. The text of each begins with the keys. */
class FairlockException extends \RuntimeException
{
}
