<?php

declare(strict_types=1);

namespace Fairlock\Internal;

use Fairlock\ConnectionLost;
use Fairlock\ServerError;

/**
 * One connection to a server, which speaks RESP 2. It sends a request, and reads its reply.
 *
 * A wait for a reply ends with its time limit. Handlers of signals run meanwhile, and may throw:
 * then nobody reads the reply, and the connection takes no further request.
 *
 * @internal
 */
final class Connection
{
    private const CHUNK_BYTES = 65_536;
    /** A longer reply is not one of a fairlock server. */
    private const BULK_BYTES_MAX = 512 * 1024 * 1024;
    private const SLICE_SECONDS_MAX = 3600.0;
    private const DESCRIPTOR_SLICE_MICROSECONDS = 20_000;

    private string $buffer = '';
    private int $position = 0;
    private int $database = 0;
    private bool $isOpen = true;
    private bool $isWaiting = false;

    /** @param resource $stream */
    private function __construct(private $stream, public readonly Address $address)
    {
    }

    /**
     * Connects, and logs in.
     *
     * @param float $seconds the time limit
     *
     * @throws ConnectionLost if there is no connection; nothing has been sent then
     * @throws ServerError    if the server refuses the login
     */
    public static function open(Address $address, Settings $settings, float $seconds): self
    {
        $seconds = min($seconds, $settings->connectTimeout);
        $deadline = Clock::now() + $seconds;
        $context = stream_context_create([
            'socket' => ['tcp_nodelay' => true],
            'ssl' => $settings->ssl + ['SNI_enabled' => true],
        ]);
        // PHP tells only in warnings why there is no TLS.
        $warnings = [];
        set_error_handler(static function (int $level, string $warning) use (&$warnings): bool {
            $warnings[] = (string) preg_replace('/^stream_socket_client\(\): /', '', $warning);
            return true;
        });
        try {
            $stream = stream_socket_client(
                $address->forStream(),
                $number,
                $text,
                $seconds,
                STREAM_CLIENT_CONNECT,
                $context,
            );
        } finally {
            restore_error_handler();
        }
        if ($stream === false) {
            throw self::refusal($address, (string) $text, implode('; ', $warnings));
        }
        stream_set_blocking($stream, false);
        stream_set_read_buffer($stream, 0);
        $connection = new self($stream, $address);
        if ($settings->password !== null) {
            $login = $settings->user === null
                ? ['AUTH', $settings->password]
                : ['AUTH', $settings->user, $settings->password];
            $connection->askFirst($login, $deadline);
        }
        return $connection;
    }

    private static function refusal(
        Address $address,
        string $text,
        string $warnings,
    ): ConnectionLost {
        $isRefusal = preg_match('/certificate/i', $warnings) === 1;
        $reason = $isRefusal || $text === '' ? $warnings : $text;
        return new ConnectionLost("$address cannot be reached: $reason", isRefusal: $isRefusal);
    }

    /** Returns whether it can take a request: it is open, and no reply is outstanding. */
    public function isUsable(): bool
    {
        if (!$this->isOpen || $this->isWaiting) {
            return false;
        }
        // The end of the connection is readable. So is what nobody asked for.
        return $this->isReadable(0.0) === false;
    }

    /**
     * Selects a database, unless it is selected already.
     *
     * @throws ConnectionLost|ServerError
     */
    public function select(int $database, float $deadline): void
    {
        if ($database !== $this->database) {
            $this->askFirst(['SELECT', (string) $database], $deadline);
            $this->database = $database;
        }
    }

    /**
     * Sends a request, and returns its reply: a text, a number, null, a list or an ErrorReply.
     *
     * @param list<string> $words
     * @param float        $deadline a time of Clock::now()
     *
     * @throws ConnectionLost if there is no reply until then
     */
    public function ask(array $words, float $deadline): mixed
    {
        $isSent = false;
        $isWaiting = true;
        try {
            $this->write(self::packed($words), $deadline);
            $isSent = true;
            $reply = $this->readReply($deadline);
            $isWaiting = false;
            return $reply;
        } catch (ConnectionLost $error) {
            $this->close();
            throw $error;
        } finally {
            $this->isWaiting = $isWaiting && $isSent;
            if ($isWaiting && !$isSent) {
                $this->close();
            }
        }
    }

    /**
     * Waits until the server has answered a request whose reply was interrupted, and closes the
     * connection.
     *
     * @return bool whether there was such a request
     */
    public function settle(float $deadline): bool
    {
        if (!$this->isOpen || !$this->isWaiting) {
            return false;
        }
        try {
            if ($this->buffer === '') {
                $this->await($deadline, false);
            }
        } catch (ConnectionLost) {
            // A server that has answered nothing until now has not received the request.
        } finally {
            $this->close();
        }
        return true;
    }

    /** Closes it. */
    public function close(): void
    {
        if ($this->isOpen) {
            $this->isOpen = false;
            @fclose($this->stream);
        }
    }

    /**
     * @param list<string> $words
     *
     * @throws ConnectionLost|ServerError
     */
    private function askFirst(array $words, float $deadline): void
    {
        try {
            $reply = $this->ask($words, $deadline);
        } catch (ConnectionLost $error) {
            throw new ConnectionLost($error->getMessage());
        }
        if ($reply instanceof ErrorReply) {
            $this->close();
            throw new ServerError($reply->text);
        }
    }

    /** @param list<string> $words */
    private static function packed(array $words): string
    {
        $text = '*' . count($words) . "\r\n";
        foreach ($words as $word) {
            $text .= '$' . strlen($word) . "\r\n$word\r\n";
        }
        return $text;
    }

    private function write(string $text, float $deadline): void
    {
        while (true) {
            $written = @fwrite($this->stream, $text);
            if ($written === strlen($text)) {
                return;
            }
            if ($written === false) {
                throw $this->lost('the connection was closed');
            }
            $text = substr($text, $written);
            $this->await($deadline, true);
        }
    }

    private function readReply(float $deadline): mixed
    {
        $line = $this->readLine($deadline);
        $rest = substr($line, 1);
        switch ($line[0] ?? '') {
            case '+':
                return $rest;
            case ':':
                return (int) $rest;
            case '-':
                return new ErrorReply($rest);
            case '$':
                return $this->readBulk((int) $rest, $deadline);
            case '*':
                if ((int) $rest < 0) {
                    return null;
                }
                $list = [];
                for ($left = (int) $rest; $left > 0; $left--) {
                    $list[] = $this->readReply($deadline);
                }
                return $list;
            default:
                throw $this->lost('the reply is not one of a fairlock server');
        }
    }

    private function readLine(float $deadline): string
    {
        $from = $this->position;
        while (($end = strpos($this->buffer, "\r\n", $from)) === false) {
            $from = max($this->position, strlen($this->buffer) - 1);
            $this->fill($deadline);
        }
        $line = substr($this->buffer, $this->position, $end - $this->position);
        $this->consume($end + 2);
        return $line;
    }

    private function readBulk(int $length, float $deadline): ?string
    {
        if ($length < 0) {
            return null;
        }
        if ($length > self::BULK_BYTES_MAX) {
            throw $this->lost('the reply is too long');
        }
        while (strlen($this->buffer) < $this->position + $length + 2) {
            $this->fill($deadline);
        }
        $bulk = substr($this->buffer, $this->position, $length);
        $this->consume($this->position + $length + 2);
        return $bulk;
    }

    private function consume(int $position): void
    {
        $this->position = $position;
        if ($position === strlen($this->buffer)) {
            $this->buffer = '';
            $this->position = 0;
        }
    }

    private function fill(float $deadline): void
    {
        while (true) {
            $this->await($deadline, false);
            $chunk = @fread($this->stream, self::CHUNK_BYTES);
            if (is_string($chunk) && $chunk !== '') {
                $this->buffer .= $chunk;
                return;
            }
            if ($chunk === false || feof($this->stream)) {
                throw $this->lost('the connection was closed');
            }
        }
    }

    /** Waits until the stream can be read or written. A signal may end the wait too early. */
    private function await(float $deadline, bool $writes): void
    {
        while (true) {
            Signals::handle();
            $seconds = $deadline - Clock::now();
            if ($seconds <= 0) {
                throw $this->lost('there was no reply in time');
            }
            $slice = Signals::limit(min($seconds, self::SLICE_SECONDS_MAX));
            if ($writes ? $this->isWritable($slice) : $this->isReadable($slice)) {
                return;
            }
        }
    }

    /** Returns whether there is something to read; null if a signal ended the wait. */
    private function isReadable(float $seconds): ?bool
    {
        $read = [$this->stream];
        $write = null;
        return $this->isReady($read, $write, $seconds);
    }

    private function isWritable(float $seconds): ?bool
    {
        $read = null;
        $write = [$this->stream];
        return $this->isReady($read, $write, $seconds);
    }

    /**
     * @param list<resource>|null $read
     * @param list<resource>|null $write
     */
    private function isReady(?array $read, ?array $write, float $seconds): ?bool
    {
        $except = null;
        $whole = (int) $seconds;
        $fraction = (int) ceil(($seconds - $whole) * 1e6);
        $count = @stream_select($read, $write, $except, $whole, $fraction);
        if ($count !== false) {
            return $count > 0;
        }
        if (str_contains(error_get_last()['message'] ?? '', 'FD_SETSIZE')) {
            // select() cannot watch this descriptor, so it is tried again and again.
            usleep((int) min($seconds * 1e6, self::DESCRIPTOR_SLICE_MICROSECONDS));
            return $seconds > 0;
        }
        return null;
    }

    private function lost(string $why): ConnectionLost
    {
        return new ConnectionLost("$this->address: $why", wasSent: true);
    }
}
