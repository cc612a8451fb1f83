<?php
// Takes and releases locks as worker.md describes. Argument: predis or phpredis.

$owner = getenv('OWNER');
$is_sentinel = getenv('MODE') === 'sentinel';
$sentinels = explode(',', getenv('SENTINELS'));

function Predis(): callable {
    global $is_sentinel, $sentinels;
    require_once 'Predis/autoload.php';
    $client = $is_sentinel
        ? new Predis\Client(array_map(fn($one) => "tcp://$one", $sentinels),
                            ['replication' => 'sentinel', 'service' => 'main'])
        : new Predis\Client('tcp://' . getenv('NODE'));
    return function (array $words) use ($client) {
        $reply = $client->executeRaw($words, $is_error);
        if ($is_error) throw new RuntimeException($reply);
        return $reply;
    };
}

// phpredis finds the master, but leaves it to its user to connect to it, now and after an error.
function MasterForPhpredis(): array {
    global $is_sentinel, $sentinels;
    if (!$is_sentinel) return explode(':', getenv('NODE'));
    foreach ($sentinels as $one) {
        [$host, $port] = explode(':', $one);
        try {
            $found = (new RedisSentinel($host, (int)$port, 1))->getMasterAddrByName('main');
            if ($found) return $found;
        } catch (RedisException) {
            // The next one may know.
        }
    }
    throw new RedisException('no Sentinel knows the master');
}

function Phpredis(): callable {
    $client = null;
    return function (array $words) use (&$client) {
        try {
            if ($client === null) {
                [$host, $port] = MasterForPhpredis();
                $new = new Redis();
                $new->connect($host, (int)$port);
                $client = $new;
            }
            $client->clearLastError();
            $reply = $client->rawCommand(...$words);
            $error = $client->getLastError();
        } catch (RedisException $failure) {
            $client = null;
            throw $failure;
        }
        if ($error !== null) throw new RedisException($error);
        return $reply === false ? null : $reply;
    };
}

function Microseconds(): int {
    return intdiv(hrtime(true), 1000);
}

// Repeats the request until it is answered.
function Ask(...$words) {
    global $call;
    while (true) {
        $line = ['op' => $words[0], 'key' => $words[1], 'begun' => Microseconds()];
        try {
            $line['reply'] = $call($words);
        } catch (Exception $error) {
            $line['error'] = get_class($error) . ': ' . $error->getMessage();
        }
        $line['ended'] = Microseconds();
        echo json_encode($line), "\n";
        if (!isset($line['error'])) return $line['reply'];
        usleep(10_000);
    }
}

function IsOver(): bool {
    $read = [STDIN];
    $none = null;
    return stream_select($read, $none, $none, 0, 20_000) > 0;
}

error_reporting(E_ALL & ~E_WARNING & ~E_DEPRECATED);
$call = $argv[1] === 'predis' ? Predis() : Phpredis();
$keys = explode(',', getenv('KEYS'));
$held_key = "$owner:held";
$held = Ask('LOCK', $held_key, $owner, 'PX', '600000');
for ($turn = 0; !IsOver(); $turn++) {
    $key = $keys[$turn % count($keys)];
    $token = Ask('LOCK', $key, $owner, 'PX', '30000', 'WAIT', '200ms');
    if ($token !== null) {
        usleep(5_000);
        Ask('CHECK', $key, (string)$token);
        Ask('UNLOCK', $key, $owner);
    }
    Ask('RENEW', $held_key, $owner, 'PX', '600000', 'TOKEN', (string)$held);
}
