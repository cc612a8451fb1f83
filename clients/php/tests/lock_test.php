<?php

declare(strict_types=1);

// Kinds of locks, waits, owners, and the ends of holds, with a real server.

namespace Fairlock\Tests;

use Fairlock\Client;
use Fairlock\Deadlock;
use Fairlock\Denied;
use Fairlock\Hold;
use Fairlock\LostHold;
use Fairlock\ServerError;
use Fairlock\WaitEnded;

require_once __DIR__ . '/support.php';

final class KindsOfLocks extends TestCase
{
    public function testALockIsHeldUntilItIsReleased(): void
    {
        $hold = $this->fairlock->lock('k', lease: 20)->acquire();
        $this->same(1, $this->outside->ask('CHECK', 'k', (string) $hold->token()));
        $this->between(15, 20, $hold->left());
        $this->same(['k'], $hold->keys());
        $this->same(true, $hold->release());
        $this->same(false, $hold->release());
        $this->same([false, 0.0], [$hold->isHeld(), $hold->left()]);
        $this->throws(LostHold::class, $hold->token(...), '/^k was released$/');
        $this->nothingLeft('k');
    }

    public function testTokensRise(): void
    {
        $tokens = [];
        for ($number = 0; $number < 5; $number++) {
            $tokens[] = $this->fairlock->withLock('k', fn (Hold $hold): int => $hold->token());
        }
        $sorted = array_unique($tokens);
        sort($sorted);
        $this->same($sorted, $tokens);
    }

    public function testADenialNamesTheHolders(): void
    {
        $other = $this->fairlock->lock('k', owner: 'job:1', meta: 'release 17', label: 'deploy');
        $hold = $other->acquire();
        $lock = $this->fairlock->lock('k', owner: 'job:2', wait: 0.1);
        $denied = $this->throws(
            Denied::class,
            $lock->acquire(...),
            '/^k not granted in 0.1 s: held by job:1 for 0\.\d s$/',
        );
        $why = $denied->explanation;
        $this->same(['held', 'timeout', 'k'], [$why->reason, $why->status, $why->key]);
        $holder = $why->holders[0];
        $this->same(
            ['job:1', 'release 17', 'deploy', 'exclusive', $hold->token()],
            [$holder->owner, $holder->meta, $holder->label, $holder->mode, $holder->token],
        );
        $this->same(['job:1'], array_column($this->fairlock->holders('k'), 'owner'));
        $this->same([], $this->waiters('k'));
        $this->throws(
            Denied::class,
            $this->fairlock->lock('k', owner: 'x', wait: 0)->acquire(...),
            '/^k not granted: held by job:1/',
        );
        $this->same(null, $lock->tryAcquire());
        $hold->release();
        $this->same([], $this->fairlock->holders('k'));
    }

    public function testAtMostAsManyOwnersAsTheLimit(): void
    {
        $lock = $this->fairlock->lock('k', limit: 2);
        [$first, $second] = [$lock->acquire(), $lock->acquire()];
        $this->same(null, $lock->tryAcquire());
        $first->release();
        $this->true($lock->tryAcquire()?->isHeld() === true);
        $second->release();
    }

    public function testReadersShareAndAWriterDoesNot(): void
    {
        $readers = $this->fairlock->lock('k', shared: true);
        [$first, $second] = [$readers->acquire(), $readers->acquire()];
        $this->same(null, $this->fairlock->lock('k')->tryAcquire());
        $first->release();
        $second->release();
        $writer = $this->fairlock->lock('k')->acquire();
        $this->same(null, $readers->tryAcquire());
        $writer->release();
    }

    public function testSeveralKeysAreTakenTogetherOrNotAtAll(): void
    {
        $other = $this->fairlock->lock('b')->acquire();
        $both = $this->fairlock->lock(['a', 'b'], owner: 'both', wait: 0);
        $this->throws(Denied::class, $both->acquire(...), '/^a, b not granted: .*\(b\)$/');
        $this->same(0, $this->outside->ask('LOCKED', 'a'));
        $other->release();
        $hold = $both->acquire();
        $hold->renew(60);
        $this->true($this->outside->ask('PTTL', 'a') > 50_000);
        $this->throws(\InvalidArgumentException::class, fn () => $hold->transfer('x'));
        $this->same(true, $hold->release());
        $this->nothingLeft('a', 'b');
    }

    public function testMinHoldKeepsTheKeyTaken(): void
    {
        $this->fairlock->lock('k', minHold: 60)->acquire()->release();
        $denied = $this->throws(
            Denied::class,
            $this->fairlock->lock('k', wait: 0)->acquire(...),
        );
        $this->same('cooling', $denied->explanation->reason);
    }

    public function testMaxWaiters(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $lock = $this->fairlock->lock('k', owner: 'x', wait: 60, maxWaiters: 0);
        $this->same('full', $this->throws(Denied::class, $lock->acquire(...))->explanation->reason);
        $hold->release();
    }

    public function testBreakLockEndsAHold(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $this->same(1, $this->fairlock->breakLock('k', 'it hangs'));
        $this->true($hold->isHeld());
        $this->throws(LostHold::class, fn () => $hold->renew(), '/server does not know it/');
        $this->throws(LostHold::class, $hold->check(...));
        $this->same(false, $hold->release());
        $history = json_encode($this->outside->ask('HISTORY', 'k'));
        $this->true(str_contains($history, 'it hangs'));
    }
}

final class Waits extends TestCase
{
    public function testWaitersAreGrantedTheLockInOrder(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $children = [];
        foreach (['first', 'second', 'third'] as $number => $owner) {
            $children[] = $this->child("
                \$hold = \$fairlock->lock('k', owner: '$owner', wait: 60)->acquire();
                say(\$hold->token());
                fgets(STDIN);
                say(\$hold->release());
            ");
            $this->waitUntil(fn (): bool => count($this->waiters('k')) === $number + 1);
        }
        $this->same(['first', 'second', 'third'], $this->waiters('k'));
        $token = $hold->token();
        $hold->release();
        foreach ($children as $child) {
            $next = $child->line();
            $this->true($next > $token, 'a rising token');
            $token = $next;
            $child->tell('go on');
            $this->same(true, $child->line());
        }
        $this->nothingLeft('k');
    }

    public function testAWaitSendsOneRequest(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $child = $this->child('say($fairlock->lock("k", wait: 60)->acquire()->isHeld());');
        $this->waitUntil(fn (): bool => $this->waiters('k') !== []);
        $sent = fn (): array => array_map($this->commands(...), ['lock', 'ping', 'renew']);
        $before = $sent();
        usleep(500_000);
        $this->same($before, $sent());
        $hold->release();
        $this->same(true, $child->line());
    }

    public function testTheConnectionOfTheApplicationIsNotUsed(): void
    {
        $redis = new \Redis();
        $redis->connect('127.0.0.1', $this->server->port);
        $redis->rawCommand('CLIENT', 'SETNAME', 'application');
        $fairlock = Client::from($redis);
        $hold = $fairlock->lock('k')->acquire();
        $this->same(1, preg_match_all('/name=application/', $this->outside->ask('CLIENT', 'LIST')));
        $hold->release();
        $this->same('hello', $redis->rawCommand('ECHO', 'hello'));
    }

    public function testAGrantAfterALongWaitIsConfirmed(): void
    {
        $this->outside->ask('LOCK', 'k', 'other', 'PX', '1500');
        $hold = $this->fairlock->lock('k', lease: 10, wait: 20)->acquire();
        $this->same(1, $this->commands('renew'));
        $this->between(5, 10, $hold->left());
        $hold->release();
    }

    public function testAKeptPlaceIsReserved(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $mine = $this->fairlock->lock('k', owner: 'job:9001', wait: 0, keep: 60);
        $this->same(null, $mine->tryAcquire());
        $hold->release();
        $this->same(null, $this->fairlock->lock('k')->tryAcquire());
        $this->true($mine->acquire()->release());
    }

    public function testANewerRequestOfTheSameOwnerEndsTheWait(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $child = $this->child('
            try {
                $fairlock->lock("k", owner: "me", wait: 60)->acquire();
            } catch (Fairlock\WaitEnded $error) {
                say($error->getMessage());
            }
        ');
        $this->waitUntil(fn (): bool => $this->waiters('k') === ['me']);
        $lock = $this->fairlock->lock('k', owner: 'me', wait: 0.1);
        $this->throws(Denied::class, $lock->acquire(...));
        $this->matches('/^k: SUPERSEDED/', $child->line());
        $hold->release();
        $this->nothingLeft('k');
    }

    public function testADeadlockIsRefused(): void
    {
        $mine = $this->fairlock->lock('j', owner: 'job:2')->acquire();
        $child = $this->child('
            $first = $fairlock->lock("k", owner: "job:1")->acquire();
            say($fairlock->lock("j", owner: "job:1", wait: 60)->acquire()->isHeld());
        ');
        $this->waitUntil(fn (): bool => $this->waiters('j') !== []);
        $this->throws(
            Deadlock::class,
            $this->fairlock->lock('k', owner: 'job:2', wait: 60)->acquire(...),
            '/^k: job:2 waits for k held by job:1/',
        );
        $mine->release();
        $this->same(true, $child->line());
    }

    public function testAProcessDoesNotWaitForItself(): void
    {
        $hold = $this->fairlock->lock('k', lease: 3600)->acquire();
        $this->throws(
            Deadlock::class,
            $this->fairlock->lock(['j', 'k'])->acquire(...),
            '/^k is held by this process already, as .* with token/',
        );
        $this->same(null, $this->fairlock->lock('k')->tryAcquire());
        $hold->release();
        $this->fairlock->lock('k')->acquire()->release();
    }
}

final class Owners extends TestCase
{
    public function testAnOwnerThatAsksAgainHasItsHoldBack(): void
    {
        $first = $this->fairlock->lock('k', owner: 'job:7')->acquire();
        $second = $this->fairlock->lock('k', owner: 'job:7', wait: 0)->acquire();
        $this->same($first->token(), $second->token());
        $this->same(true, $second->release());
        $this->nothingLeft('k');
        $this->same(false, $first->release());
    }

    public function testEachAcquisitionHasItsOwnOwner(): void
    {
        $lock = $this->fairlock->lock('k', limit: 2);
        [$one, $other] = [$lock->acquire(), $lock->acquire()];
        $this->true($one->owner() !== $other->owner(), 'a different owner');
        $this->true(str_starts_with($one->owner(), gethostname() . ':' . getmypid() . ':'));
    }

    public function testATransferGivesTheLockToAnotherOwner(): void
    {
        $hold = $this->fairlock->lock('k', owner: 'job:1')->acquire();
        $token = $hold->token();
        $new = $hold->transfer('job:2', 60);
        $this->true($new > $token, 'a greater token');
        $this->throws(LostHold::class, $hold->check(...));
        $heir = $this->fairlock->lock('k', owner: 'job:2', wait: 0)->acquire();
        $this->same($new, $heir->token());
        $this->same([false, true], [$hold->release(), $heir->release()]);
    }

    public function testARefusedTransferChangesNothing(): void
    {
        $lock = $this->fairlock->lock('k', owner: 'job:1', limit: 2);
        $hold = $lock->acquire();
        $other = $this->fairlock->lock('k', owner: 'job:2', limit: 2)->acquire();
        $this->throws(ServerError::class, fn () => $hold->transfer('job:2'), '/^k: /');
        $hold->check();
        $this->same([true, true], [$hold->release(), $other->release()]);
    }

    public function testAHoldIsPassedOnToAnotherProcess(): void
    {
        $hold = $this->fairlock->lock('k', lease: 5, autoRelease: false)->acquire();
        [$owner, $token] = [$hold->owner(), $hold->token()];
        unset($hold);
        $this->same(1, $this->outside->ask('CHECK', 'k', (string) $token));
        $child = $this->child("
            \$hold = \$fairlock->resume('k', '$owner', $token, lease: 60);
            say([\$hold->isHeld(), \$hold->token(), \$hold->left() > 50, \$hold->release()]);
        ");
        $this->same([true, $token, true, true], $child->line());
        $this->throws(LostHold::class, fn () => $this->fairlock->resume('k', $owner, $token));
    }

    public function testAHoldCannotBeSerialized(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        $this->throws(\LogicException::class, fn () => serialize($hold));
    }
}

final class EndsOfHolds extends TestCase
{
    public function testWithReturnsTheResultAndReleases(): void
    {
        $this->same('done', $this->fairlock->withLock('k', function (Hold $hold): string {
            $this->same(1, $this->outside->ask('LOCKED', 'k', $hold->owner()));
            return 'done';
        }, lease: 20, wait: 1));
        $this->nothingLeft('k');
    }

    public function testWithReleasesAfterAnError(): void
    {
        $this->throws(\DomainException::class, fn () => $this->fairlock->withLock(
            'k',
            static fn () => throw new \DomainException(),
        ));
        $this->nothingLeft('k');
    }

    public function testWithReportsALock(): void
    {
        $this->throws(LostHold::class, fn () => $this->fairlock->withLock(
            'k',
            fn () => $this->outside->ask('BREAK', 'k'),
        ), '/^k was lost before it was released$/');
        $this->throws(\DomainException::class, fn () => $this->fairlock->withLock('k', function () {
            $this->outside->ask('BREAK', 'k');
            throw new \DomainException();
        }));
    }

    public function testWithLetsTheWorkReleaseTheLock(): void
    {
        $this->same(true, $this->fairlock->withLock('k', fn (Hold $hold) => $hold->release()));
    }

    public function testADroppedHoldIsReleased(): void
    {
        $hold = $this->fairlock->lock('k')->acquire();
        unset($hold);
        $this->nothingLeft('k');
    }

    public function testTheEndOfTheRequestReleases(): void
    {
        $endings = [
            'exit(3);',
            'throw new Exception("uncaught");',
            'noSuchFunction();',
            'trigger_error("fatal", E_USER_ERROR);',
            'ini_set("memory_limit", "8M"); str_repeat("x", 100_000_000);',
            'register_shutdown_function(fn () => say($hold->isHeld())); noSuchFunction();',
        ];
        foreach ($endings as $ending) {
            $child = $this->child("\$hold = \$fairlock->lock('k')->acquire(); say(1); $ending");
            $child->line();
            $child->join();
            $this->same(0, $this->outside->ask('LOCKED', 'k'));
        }
    }

    public function testAHoldWithoutAutoReleaseLasts(): void
    {
        $child = $this->child('
            $hold = $fairlock->lock("k", lease: 60, autoRelease: false)->acquire();
            say(1);
        ');
        $child->line();
        $child->join();
        $this->same(1, $this->outside->ask('LOCKED', 'k'));
    }

    public function testALeaseThatIsNotRenewedEnds(): void
    {
        $hold = $this->fairlock->lock('k', lease: 0.3)->acquire();
        $other = $this->child('say($fairlock->lock("k", wait: 20)->acquire()->isHeld());');
        while ($hold->isHeld()) {
            $this->same(1, $this->outside->ask('LOCKED', 'k', $hold->owner()));
        }
        $this->throws(LostHold::class, $hold->check(...), '/^k is lost: its lease of 0.3 s ended/');
        $this->throws(LostHold::class, fn () => $hold->renew());
        $this->same(true, $other->line());
        $this->same(false, $hold->release());
    }

    public function testALeaseIsRenewedWhenAThirdIsLeft(): void
    {
        $hold = $this->fairlock->lock('k', lease: 9)->acquire();
        $this->same(false, $hold->renewIfDue());
        $this->same(0, $this->commands('renew'));
        usleep(6_100_000);
        $this->same(true, $hold->renewIfDue());
        $this->between(4, 9, $hold->left());
        $this->same(1, $this->commands('renew'));
    }

    public function testARenewalNeverShortensALease(): void
    {
        $hold = $this->fairlock->lock('k', lease: 60)->acquire();
        $hold->renew(0.1);
        $this->true($this->outside->ask('PTTL', 'k') > 30_000);
        $this->between(50, 60, $hold->left());
    }
}

run(KindsOfLocks::class, Waits::class, Owners::class, EndsOfHolds::class);
