<?php

declare(strict_types=1);

// What may go wrong while a process waits for a lock or holds one, with a real server.

namespace Fairlock\Tests;

use Fairlock\Client;
use Fairlock\ConnectionLost;
use Fairlock\Internal\Clock;
use Fairlock\LostHold;

require_once __DIR__ . '/support.php';

/** The reply to a request is lost, late, or its request is. */
final class LostReplies extends TestCase
{
    public function testALockIsAskedForAgain(): void
    {
        foreach (['lost', 'cut'] as $fault) {
            $fairlock = $this->relay('LOCK', $fault);
            $hold = $fairlock->lock($fault, lease: 20, wait: 20)->acquire();
            $this->same(1, $this->outside->ask('LOCKED', $fault, $hold->owner()));
            $this->same(true, $hold->release());
            $this->nothingLeft($fault);
        }
    }

    public function testATryWithoutAReplyLeavesNothing(): void
    {
        $fairlock = $this->relay('LOCK', 'cut');
        $this->throws(ConnectionLost::class, $fairlock->lock('k')->tryAcquire(...), '/^k: /');
        $this->nothingLeft('k');
    }

    public function testARenewalIsSentAgain(): void
    {
        foreach (['lost', 'cut'] as $fault) {
            $hold = $this->relay('RENEW', $fault)->lock($fault, lease: 5)->acquire();
            $hold->renew(60);
            $this->between(50, 60, $hold->left());
            $hold->release();
        }
    }

    public function testAfterARenewalWithoutAReplyTheOldLeaseCounts(): void
    {
        $hold = $this->relay('RENEW', 'cut', 1000)->lock('k', lease: 2)->acquire();
        $this->throws(ConnectionLost::class, fn () => $hold->renew(60), '/^k: /');
        $this->same(false, $hold->isHeld());
        $this->throws(LostHold::class, $hold->token(...), '/lease of 2 s ended/');
        // The server has executed it, but this process does not know.
        $this->true($this->outside->ask('PTTL', 'k') > 30_000);
        $hold->release();
        $this->nothingLeft('k');
    }

    public function testAReleaseIsSentAgain(): void
    {
        foreach (['lost', 'cut'] as $fault) {
            $hold = $this->relay('UNLOCK', $fault)->lock($fault)->acquire();
            $this->same(true, $hold->release());
            $this->nothingLeft($fault);
        }
        $hold = $this->relay('MUNLOCK', 'cut')->lock(['a', 'b'])->acquire();
        $this->same(true, $hold->release());
        $this->nothingLeft('a', 'b');
    }

    public function testATransferIsSentAgain(): void
    {
        foreach (['lost', 'cut'] as $fault) {
            $hold = $this->relay('TRANSFER', $fault)->lock($fault)->acquire();
            $token = $hold->transfer('other');
            $heir = $this->fairlock->lock($fault, owner: 'other', wait: 0)->acquire();
            $this->same($token, $heir->token());
            $heir->release();
        }
    }

    public function testATransferThatNobodyConfirmsLosesTheHold(): void
    {
        $hold = $this->relay('TRANSFER', 'cut', 1000)->lock('k', lease: 2)->acquire();
        $this->throws(ConnectionLost::class, fn () => $hold->transfer('other', 600));
        $this->throws(LostHold::class, $hold->check(...), '/not confirmed its transfer to other/');
        $this->same(false, $hold->release());
        $this->same(1, $this->outside->ask('LOCKED', 'k', 'other'));
    }

    public function testTheLeaseCountsFromTheRequest(): void
    {
        $hold = $this->relay('LOCK', 0.3)->lock('k', lease: 30)->acquire();
        $this->same(0, $this->commands('renew'));
        $this->true($hold->left() < 29.71, 'it counts from the request');
        $hold->release();
    }
}

final class ServersThatFail extends TestCase
{
    private string $folder = '';

    protected function serverOptions(): array
    {
        $this->folder = sys_get_temp_dir() . '/fairlock-' . bin2hex(random_bytes(6));
        mkdir($this->folder);
        return ['--durability', 'async', '--data-dir', $this->folder];
    }

    public function tearDown(): void
    {
        parent::tearDown();
        exec('rm -rf ' . escapeshellarg($this->folder));
    }

    public function testAServerThatIsKilledWhileSomebodyWaits(): void
    {
        $hold = $this->fairlock->lock('k', lease: 60)->acquire();
        $child = $this->child('
            $hold = $fairlock->lock("k", owner: "waiter", wait: 60, keep: 30)->acquire();
            say([$hold->token(), $hold->isHeld()]);
            say($hold->release());
        ');
        $this->waitUntil(fn (): bool => $this->waiters('k') === ['waiter']);
        $this->server->stop(SIGKILL);
        usleep(200_000);
        $this->true($this->server->start());
        $this->outside = new Outside($this->server->port);
        $this->waitUntil(fn (): bool => $this->waiters('k') === ['waiter']);
        $hold->check();
        $hold->renew();
        $token = $hold->token();
        $this->same(true, $hold->release());
        [$next, $isHeld] = $child->line();
        $this->true($next > $token && $isHeld, 'a rising token');
        $this->same(true, $child->line());
    }

    public function testAServerThatStaysAway(): void
    {
        $warnings = [];
        $fairlock = Client::from($this->url(), warn: function (string $text) use (&$warnings) {
            $warnings[] = $text;
        });
        $hold = $fairlock->lock('k', lease: 1)->acquire();
        $this->server->stop(SIGKILL);
        $this->throws(
            ConnectionLost::class,
            $this->fairlock->lock('j', wait: 0.3)->acquire(...),
            '/^j: 127.0.0.1:\d+ cannot be reached: Connection refused/',
        );
        $this->throws(ConnectionLost::class, $this->fairlock->lock('j')->tryAcquire(...));
        $this->throws(ConnectionLost::class, fn () => $hold->renew());
        $this->same(false, $hold->isHeld());
        $this->throws(LostHold::class, fn () => $hold->renew());
        unset($hold);
        $this->same(1, count($warnings));
        $this->matches('/^releasing k: 127.0.0.1:\d+ cannot be reached/', $warnings[0]);
    }

    public function testARenewalAndAReleaseWaitForTheRestart(): void
    {
        $child = $this->child('
            $hold = $fairlock->lock("k", lease: 60)->acquire();
            say(1);
            fgets(STDIN);
            $hold->renew();
            say($hold->isHeld());
            fgets(STDIN);
            say($hold->release());
        ');
        $child->line();
        foreach (['renew', 'release'] as $what) {
            $this->server->stop(SIGKILL);
            $child->tell($what);
            usleep(300_000);
            $this->true($this->server->start());
            $this->same(true, $child->line());
        }
        $this->outside = new Outside($this->server->port);
        $this->nothingLeft('k');
    }

    public function testAServerThatIsPausedForLongerThanTheLease(): void
    {
        $fairlock = Client::from($this->url(), readTimeout: 0.3, warn: static function (): void {
        });
        $hold = $fairlock->lock('k', lease: 1)->acquire();
        $this->server->signal(SIGSTOP);
        $this->throws(ConnectionLost::class, fn () => $hold->renew(60), '/no reply in time/');
        $this->same(false, $hold->isHeld());
        $this->server->signal(SIGCONT);
        // The renewal may still be executed, but this process does not believe so.
        usleep(50_000);
        $this->same(false, $hold->isHeld());
        $this->throws(LostHold::class, $hold->check(...));
    }

    public function testAServerThatIsPausedWhileSomebodyWaits(): void
    {
        $hold = $this->fairlock->lock('k', lease: 60)->acquire();
        $child = $this->child('
            $client = Fairlock\Client::from("' . $this->url() . '", readTimeout: 0.3);
            say($client->lock("k", owner: "waiter", wait: 60, keep: 30)->acquire()->isHeld());
        ');
        $this->waitUntil(fn (): bool => $this->waiters('k') === ['waiter']);
        $this->server->signal(SIGSTOP);
        usleep(1_000_000);
        $this->server->signal(SIGCONT);
        $this->waitUntil(fn (): bool => $this->waiters('k') === ['waiter']);
        $hold->release();
        $this->same(true, $child->line());
    }

    public function testASilentServerDoesNotHoldUpALimitedWait(): void
    {
        $this->server->signal(SIGSTOP);
        $begun = Clock::now();
        $lock = $this->fairlock->lock('k', wait: 0.2);
        $this->throws(ConnectionLost::class, $lock->acquire(...), '/^k: /');
        // The alternative is the read time-out of PHP, a minute.
        $this->true(Clock::now() - $begun < 30);
        $this->server->signal(SIGCONT);
        $this->waitUntil(fn (): bool => $this->outside->ask('LOCKED', 'k') === 0);
    }
}

final class Connections extends TestCase
{
    public function testAReadTimeOutShorterThanTheWaitKeepsThePlace(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $children = [];
        foreach (['first', 'second'] as $number => $owner) {
            $children[] = $this->child("
                \$client = Fairlock\Client::from('{$this->url()}', readTimeout: 0.2);
                \$hold = \$client->lock('k', owner: '$owner', wait: 60, keep: 20)->acquire();
                say('$owner');
                say(\$hold->release());
            ");
            $this->waitUntil(fn (): bool => count($this->waiters('k')) === $number + 1);
        }
        usleep(1_000_000);
        $this->same(['first', 'second'], $this->waiters('k'));
        $hold->release();
        $this->same(['first', 'second'], [$children[0]->line(), $children[1]->line()]);
    }

    public function testAConnectionThatWasClosedWhileItWasIdle(): void
    {
        $this->fairlock->lock('k')->acquire()->release();
        $mine = $this->outside->ask('CLIENT', 'ID');
        preg_match_all('/^id=(\d+)/m', $this->outside->ask('CLIENT', 'LIST'), $found);
        foreach ($found[1] as $id) {
            (int) $id === $mine || $this->outside->ask('CLIENT', 'KILL', 'ID', $id);
        }
        $this->same(true, $this->fairlock->lock('k')->tryAcquire()?->release());
    }

    public function testAConnectionThatIsClosedDuringTheWait(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $child = $this->child('
            say($fairlock->lock("k", owner: "me", wait: 60, keep: 20)->acquire()->isHeld());
        ');
        $this->waitUntil(fn (): bool => $this->waiters('k') === ['me']);
        $before = $this->commands('lock');
        preg_match_all('/^id=(\d+) .* cmd=lock/m', $this->outside->ask('CLIENT', 'LIST'), $found);
        $this->true($found[1] !== []);
        foreach ($found[1] as $id) {
            $this->outside->ask('CLIENT', 'KILL', 'ID', $id);
        }
        $this->waitUntil(fn (): bool => $this->commands('lock') > $before);
        $hold->release();
        $this->same(true, $child->line());
    }

    public function testOfSeveralAddressesTheOneThatAnswersIsUsed(): void
    {
        $dead = OwnServer::freePort();
        $fairlock = Client::from([$this->url($dead), $this->url()]);
        $this->same(true, $fairlock->lock('k')->tryAcquire()?->release());
        $this->same(true, $fairlock->lock('k', wait: 1)->acquire()->release());
    }

    public function testTheLastAddressTakesOver(): void
    {
        $other = new OwnServer();
        try {
            $fairlock = Client::from([$this->url($other->port), $this->url()]);
            $fairlock->lock('k')->acquire()->release();
            $other->stop(SIGKILL);
            $hold = $fairlock->lock('k', wait: 20)->acquire();
            $this->same(1, $this->outside->ask('LOCKED', 'k', $hold->owner()));
        } finally {
            $other->close();
        }
    }
}

final class Processes extends TestCase
{
    public function testAStoppedProcessLearnsOfTheLossBeforeItActs(): void
    {
        $child = $this->child('
            $hold = $fairlock->lock("k", lease: 2)->acquire();
            say($hold->token());
            fgets(STDIN);
            try {
                say($hold->token());
            } catch (Fairlock\LostHold) {
                say("lost");
            }
        ');
        $this->true(is_int($child->line()));
        $child->signal(SIGSTOP);
        $hold = $this->fairlock->lock('k', wait: 20)->acquire();
        $child->tell('go on');
        $child->signal(SIGCONT);
        $this->same('lost', $child->line());
        $this->same(1, $this->outside->ask('CHECK', 'k', (string) $hold->token()));
    }

    public function testAWaiterThatWasStoppedAtItsGrantAsksAgain(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $child = $this->child('
            $hold = $fairlock->lock("k", lease: 3, wait: 60)->acquire();
            say([$hold->token(), $hold->isHeld()]);
        ');
        $this->waitUntil(fn (): bool => $this->waiters('k') !== []);
        $child->signal(SIGSTOP);
        $hold->release();
        $other = $this->fairlock->lock('k', owner: 'other', wait: 20)->acquire();
        $child->signal(SIGCONT);
        $this->waitUntil(fn (): bool => $this->waiters('k') !== []);
        $token = $other->token();
        $other->release();
        [$next, $isHeld] = $child->line();
        $this->true($next > $token && $isHeld);
    }

    public function testAProcessThatDiesLeavesItsLease(): void
    {
        $child = $this->child('
            $hold = $fairlock->lock("k", lease: 0.6)->acquire();
            say(1);
            sleep(60);
        ');
        $child->line();
        $child->signal(SIGKILL);
        $this->same(true, $this->fairlock->lock('k', wait: 20)->acquire()->release());
    }

    public function testASignalWhoseHandlerThrowsGivesUpThePlace(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $child = $this->child('
            pcntl_async_signals(true);
            pcntl_signal(SIGTERM, fn () => throw new DomainException("stop"));
            try {
                $fairlock->lock("k", keep: 60)->acquire();
            } catch (DomainException $error) {
                say($error->getMessage());
            }
            say($fairlock->lock("other")->acquire()->release());
        ');
        $this->waitUntil(fn (): bool => $this->waiters('k') !== []);
        $child->signal(SIGTERM);
        $this->same('stop', $child->line());
        $this->same([], $this->waiters('k'));
        $this->same(true, $child->line());
        $hold->release();
        $this->nothingLeft('k');
    }

    public function testAStormOfSignalsLeavesNothing(): void
    {
        $children = [];
        foreach ([1, 2] as $number) {
            $children[] = $this->child('
                pcntl_async_signals(true);
                $isInside = false;
                pcntl_signal(SIGUSR1, function () use (&$isInside): void {
                    if ($isInside) {
                        $isInside = false;
                        throw new DomainException();
                    }
                });
                $interrupted = 0;
                say("ready");
                for ($end = time() + 3; time() < $end;) {
                    try {
                        $isInside = true;
                        $fairlock->lock("k", lease: 600, keep: 60, wait: 60)->acquire()->renew();
                        $isInside = false;
                    } catch (DomainException) {
                        $interrupted++;
                    }
                }
                pcntl_signal(SIGUSR1, SIG_IGN);
                say($interrupted);
            ');
        }
        foreach ($children as $child) {
            $this->same('ready', $child->line());
        }
        for ($end = time() + 2; time() < $end;) {
            usleep(random_int(500, 6_000));
            $children[random_int(0, 1)]->signal(SIGUSR1);
        }
        foreach ($children as $child) {
            $this->true($child->line() > 0, 'an interruption');
        }
        $this->nothingLeft('k');
    }

    public function testAWaitGoesOnAfterASignal(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $child = $this->child('
            pcntl_async_signals(true);
            pcntl_signal(SIGUSR1, fn () => say("signal"));
            say($fairlock->lock("k")->acquire()->isHeld());
        ');
        $this->waitUntil(fn (): bool => $this->waiters('k') !== []);
        $before = $this->commands('lock');
        $child->signal(SIGUSR1);
        $this->same('signal', $child->line());
        $this->same($before, $this->commands('lock'));
        $hold->release();
        $this->same(true, $child->line());
    }

    public function testAForkedChildNeitherHoldsNorReleases(): void
    {
        $child = $this->child('
            $hold = $fairlock->lock("k", lease: 60)->acquire();
            $pid = pcntl_fork();
            if ($pid === 0) {
                say([$hold->isHeld(), $hold->release()]);
                try {
                    $hold->check();
                } catch (Fairlock\LostHold $error) {
                    say($error->getMessage());
                }
                say($fairlock->lock("of the child")->acquire()->isHeld());
                exit(0);
            }
            pcntl_waitpid($pid, $status);
            $hold->renew();
            say([$hold->isHeld(), count($fairlock->holders("k")), $hold->release()]);
        ');
        $this->same([false, false], $child->line());
        $this->same('k is held by the parent of this process', $child->line());
        $this->same(true, $child->line());
        $this->same([true, 1, true], $child->line());
    }
}

run(LostReplies::class, ServersThatFail::class, Connections::class, Processes::class);
