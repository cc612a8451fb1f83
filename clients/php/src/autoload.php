<?php

declare(strict_types=1);

// Loads the classes of this library in a program without Composer.
spl_autoload_register(static function (string $class): void {
    $prefix = 'Fairlock\\';
    $file = __DIR__ . '/' . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
    if (str_starts_with($class, $prefix) && is_file($file)) {
        require_once $file;
    }
});
