package io.fairlock;

import io.fairlock.Server.Answer;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * What this process knows about a hold, and does for it: renews it, reports its loss, releases it.
 * It does not keep the {@link Hold} of the program alive. All threads may call it.
 */
final class Holding {

  private static final System.Logger LOG = System.getLogger("io.fairlock");
  private static final Cleaner CLEANER = Cleaner.create();
  private static final String UNKNOWN = "the server does not know it any more";
  // A release, or a transfer, is repeated for this time.
  private static final long REPEAT_MAX = 5000 * Clock.MILLISECOND;

  final LockOptions options;
  final List<String> keys;
  final String owner;
  final long token;
  private final Terms terms;
  private final Route to;
  private final Server.Timers timers;
  private final Executor executor;
  private final Channel.Line line; // null if it did not wait over the channel
  private final Consumer<Message> listener = this::hear;

  // The monitor protects these.
  private long lease; // what the next renewal asks for
  // The lease ends no earlier, because it counts from a time before the request.
  private long deadline;
  private String lost; // Why it is lost. A lost hold never returns.
  private boolean isOver; // Its owner releases it, or has transferred it.
  private boolean isReleased; // There is nothing left to release.
  private String heir; // the heir of a transfer that was sent and not answered
  private String rumour; // why it may be lost, unless that was the transfer itself
  private CompletableFuture<Void> releasing;
  private boolean renews;
  private boolean isRenewing;
  private boolean isDropped;
  private Hold program; // keeps the hold in use until the first turn
  private ScheduledFuture<?> turn;

  Holding(Acquisition from, Acquisition.Grant grant, Executor executor) {
    options = from.options;
    keys = from.terms.keys;
    owner = from.owner;
    token = grant.token();
    terms = from.terms;
    to = from.to;
    timers = from.timers;
    line = from.line;
    this.executor = executor;
    lease = options.lease;
    renews = options.renews;
    deadline = grant.sentAt() + lease;
    if (line != null) {
      line.listen(keys, owner, listener);
      from.mail.takeAll().forEach(this::hear); // The message arrived during the acquisition.
    }
  }

  Executor executor() {
    return executor;
  }

  /**
   * Starts to renew it. The hold is kept alive until the first turn, before which most are
   * released.
   */
  synchronized Hold hold() {
    Hold hold = new Hold(this);
    program = hold;
    plan();
    return hold;
  }

  private synchronized void plan() {
    if (turn != null) {
      turn.cancel(false);
    }
    turn = timers.after(deadline - (renews ? lease / 3 : 0) - Clock.now(), this::turn);
  }

  private void turn() {
    boolean isDue;
    synchronized (this) {
      if (isOver || isLostNow()) {
        program = null;
        return;
      }
      if (program != null) {
        watchForDrop();
      }
      if (isRenewing) {
        return; // The renewal plans the next turn.
      }
      isDue = renews && deadline - lease / 3 - Clock.now() <= 0;
      isRenewing = isDue;
    }
    if (isDue) {
      renewUntilAnswered(new Failures.Backoff());
    } else {
      plan();
    }
  }

  /** Not called for most holds, because they are released before their first renewal. */
  private void watchForDrop() {
    CLEANER.register(program, this::drop);
    program = null;
  }

  /** The program cannot release the hold any more: the lease ends it. */
  private void drop() {
    synchronized (this) {
      if (isReleased) {
        return;
      }
      isDropped = true;
      renews = false;
      if (!isOver && !isLostNow()) {
        LOG.log(System.Logger.Level.WARNING, "fairlock: a hold of {0} was dropped without unlock; "
            + "its lease is not renewed any more", Explanation.Text.quoted(keys));
        plan();
        return;
      }
    }
    leave();
  }

  /** Asks again while the lease lasts: the server may be restarting. */
  private void renewUntilAnswered(Failures.Backoff attempts) {
    askRenewal(currentLease()).whenComplete((done, failure) -> {
      synchronized (this) {
        isRenewing = failure != null && !isOver && !isLostNow();
        if (!isRenewing) {
          if (!isOver && lost == null) {
            plan();
          }
          return;
        }
      }
      LOG.log(System.Logger.Level.WARNING, "fairlock: renewing {0}: {1}",
          Explanation.Text.quoted(keys), Failures.textOf(failure));
      if (Failures.bare(failure) instanceof Failures.Closed) {
        stopRenewal();
        return;
      }
      timers.after(Math.min(attempts.pause(failure), left()), () -> {
        boolean goesOn;
        synchronized (this) {
          goesOn = !isOver && !isLostNow();
          isRenewing = goesOn;
        }
        if (goesOn) {
          renewUntilAnswered(attempts);
        }
      });
    });
  }

  private synchronized void stopRenewal() {
    renews = false;
    isRenewing = false;
    plan();
  }

  /** Renews once, within the lease. A refusal is final, because a token never returns. */
  private CompletableFuture<Void> askRenewal(long wanted) {
    return to.ask(terms.renew(owner, token, wanted)).copy()
        .orTimeout(Math.max(0, left()), TimeUnit.NANOSECONDS).handle((answer, failure) -> {
          if (Failures.bare(failure) instanceof TimeoutException) {
            throw new Failures.Again("the server did not answer within the lease");
          }
          if (failure != null) {
            throw new CompletionException(Failures.bare(failure));
          }
          if (Long.valueOf(1).equals(answer.reply())) {
            extend(answer.sentAt() + wanted);
          } else {
            lose(UNKNOWN);
          }
          return null;
        });
  }

  /**
   * Renews now. The lease is that of later renewals, too.
   *
   * @param wanted nanoseconds, or null for the present one
   */
  CompletableFuture<Void> renew(Long wanted) {
    check();
    long asked = wanted == null ? currentLease() : wanted;
    return askRenewal(asked).handle((done, failure) -> {
      synchronized (this) {
        if (failure == null) {
          lease = asked;
        }
        if (!isOver && !isLostNow()) {
          plan();
        }
      }
      if (failure != null) {
        throw Failures.translated(keys, failure);
      }
      check();
      return null;
    });
  }

  /** The first call ends the hold. Others wait for that one, and find the hold released. */
  CompletableFuture<Void> release() {
    CompletableFuture<Void> mine = new CompletableFuture<>();
    FairlockException.LostHold reason;
    synchronized (this) {
      if (isReleased || releasing != null) {
        CompletableFuture<Void> first = releasing != null ? releasing
            : CompletableFuture.completedFuture(null);
        return first.handle((done, failure) -> {
          check();
          return null;
        });
      }
      releasing = mine;
      reason = loss();
      isOver = true;
    }
    release(reason, 0, new Failures.Backoff(), mine);
    return mine.whenComplete((done, failure) -> leave());
  }

  private void release(FairlockException.LostHold reason, long until, Failures.Backoff attempts,
      CompletableFuture<Void> done) {
    boolean isRepeated = until != 0;
    to.ask(terms.unlock(owner, token)).whenComplete((answer, failure) -> {
      if (failure == null) {
        // The first of two requests may have been executed although its reply was lost.
        boolean wasHeld = isRepeated || Long.valueOf(keys.size()).equals(answer.reply());
        end(done, reason != null || wasHeld ? reason
            : new FairlockException.LostHold(keys, "it was lost before it was released"));
        return;
      }
      long end = isRepeated ? until : Clock.now() + REPEAT_MAX;
      if (Failures.isTemporary(failure) && Clock.now() < end) {
        timers.after(attempts.pause(failure), () -> release(reason, end, attempts, done));
        return;
      }
      LOG.log(System.Logger.Level.WARNING, "fairlock: releasing {0}: {1}",
          Explanation.Text.quoted(keys), Failures.textOf(failure));
      end(done, reason);
    });
  }

  private static void end(CompletableFuture<Void> done, RuntimeException failure) {
    if (failure == null) {
      done.complete(null);
    } else {
      done.completeExceptionally(failure);
    }
  }

  /**
   * From now on, only a refusal by the server makes the hold certain again: a request that is still
   * on its way may be executed after anything that is asked meanwhile.
   */
  CompletableFuture<Long> transfer(String newOwner, Long wanted) {
    long asked;
    synchronized (this) {
      check();
      heir = newOwner;
      asked = wanted == null ? lease : wanted;
    }
    CompletableFuture<Long> done = new CompletableFuture<>();
    askTransfer(newOwner, asked, 0, new Failures.Backoff(), done);
    return done.handle((newToken, failure) -> {
      if (newToken != null) {
        synchronized (this) {
          isOver = true;
          heir = null;
        }
        leave();
        return newToken;
      }
      if (failure == null) {
        lose(UNKNOWN);
      }
      endTransfer();
      if (failure != null) {
        throw Failures.translated(keys, failure);
      }
      check(); // The release can fail otherwise only if the hold was released meanwhile.
      throw new FairlockException.LostHold(keys, UNKNOWN);
    });
  }

  /**
   * Asks again while the server cannot be reached: the token in the command lets only one of the
   * requests succeed. Ends with null if none did.
   */
  private void askTransfer(String newOwner, long asked, long until, Failures.Backoff attempts,
      CompletableFuture<Long> done) {
    boolean isRepeated = until != 0;
    long end = isRepeated ? until : Clock.now() + REPEAT_MAX;
    to.ask(terms.transfer(owner, token, newOwner, asked)).whenComplete((answer, failure) -> {
      if (failure == null && (answer.reply() != null || !isRepeated)) {
        done.complete(Explanation.tokenOf(answer.reply()));
      } else if (failure == null) {
        to.ask(terms.info()).whenComplete((info, why) ->
            judge(newOwner, asked, end, attempts, done, info, why, isRepeated));
      } else {
        judge(newOwner, asked, end, attempts, done, null, failure, isRepeated);
      }
    });
  }

  private void judge(String newOwner, long asked, long until, Failures.Backoff attempts,
      CompletableFuture<Long> done, Answer info, Throwable failure, boolean isRepeated) {
    boolean isLost;
    synchronized (this) {
      isLost = !isOver && isLostNow() || lost != null;
    }
    if (failure == null) {
      done.complete(isLost ? null : Explanation.newerToken(newOwner, token, info.reply()));
    } else if (isLost || Clock.now() >= until) {
      done.completeExceptionally(failure);
    } else if (!Failures.isTemporary(failure)) {
      if (!isRepeated) {
        refuseTransfer();
      }
      done.completeExceptionally(failure);
    } else {
      timers.after(attempts.pause(failure),
          () -> askTransfer(newOwner, asked, until, attempts, done));
    }
  }

  /** The server did not execute it: the hold is what it was. */
  private synchronized void refuseTransfer() {
    heir = null;
    if (rumour != null) {
      lose(rumour);
    }
  }

  /** Loses a hold whose transfer was neither confirmed nor refused. */
  private synchronized void endTransfer() {
    if (heir == null) {
      return;
    }
    String reason = rumour != null ? rumour
        : "the server has not confirmed its transfer to " + Explanation.Text.printable(heir);
    heir = null;
    lose(reason);
  }

  private void hear(Message it) {
    if (it.event().equals("lost") && it.token() == token) {
      lose("the server reported: " + it.reason());
    }
  }

  private synchronized void lose(String reason) {
    if (lost != null || isOver) {
      return;
    }
    if (heir == null) {
      setLost(reason);
    } else if (rumour == null) {
      rumour = reason;
    }
  }

  private void setLost(String reason) {
    lost = reason;
    timers.after(0, this::report);
  }

  /** Called once. */
  private void report() {
    if (options.onLost != null) {
      executor.execute(() -> options.onLost.accept(new Hold(this)));
    }
    synchronized (this) {
      if (!isDropped) {
        return;
      }
    }
    leave();
  }

  /** Reads the clock. The caller holds the monitor. */
  private boolean isLostNow() {
    if (lost == null && !isOver && Clock.now() >= deadline) {
      setLost("its lease of " + Explanation.Text.rounded(Duration.ofNanos(lease))
          + " ended before it was renewed");
    }
    return lost != null;
  }

  /** The caller holds the monitor. Returns null if it is not lost. */
  private FairlockException.LostHold loss() {
    return isLostNow() ? new FairlockException.LostHold(keys, lost) : null;
  }

  /** Throws LostHold unless the lock is certainly held. */
  synchronized void check() {
    if (isOver) {
      throw new FairlockException.LostHold(keys, "it was released");
    }
    if (heir != null) {
      throw new FairlockException.LostHold(keys, "it is being transferred to "
          + Explanation.Text.printable(heir) + ", or has been already");
    }
    FairlockException.LostHold loss = loss();
    if (loss != null) {
      throw loss;
    }
  }

  synchronized boolean isHeld() {
    return !isOver && heir == null && !isLostNow();
  }

  /** Whether a release would send nothing. */
  synchronized boolean hasLeft() {
    return isReleased || releasing != null;
  }

  /** Nanoseconds until the lease ends at the earliest. */
  synchronized long left() {
    return deadline - Clock.now();
  }

  private synchronized long currentLease() {
    return lease;
  }

  /**
   * None shortens the lease, in whichever order the server executes renewals and replies to them.
   */
  private synchronized void extend(long until) {
    if (!isLostNow() && until > deadline) {
      deadline = until;
    }
  }

  /** There is nothing left to release. */
  private void leave() {
    synchronized (this) {
      if (isReleased) {
        return;
      }
      isOver = true;
      isReleased = true;
      program = null;
      if (turn != null) {
        turn.cancel(false);
      }
    }
    if (line != null) {
      line.leave(keys, owner, listener);
    }
  }
}
