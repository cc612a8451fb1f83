package io.fairlock;

import io.fairlock.Server.Answer;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Asks for a lock until it is granted or denied, or the wait is over. Each step begins when the one
 * before it has ended; only cancel comes from elsewhere. If it fails, it releases what it may have
 * got, before its future ends.
 */
final class Acquisition {

  /** A token, and a time from which at least one whole lease counts. */
  record Grant(long token, long sentAt) {}

  private static final System.Logger LOG = System.getLogger("io.fairlock");
  // The server ends a wait itself. The client waits this much longer before it suspects that the
  // message was lost.
  private static final long GRACE = 5000 * Clock.MILLISECOND;
  private static final long FOREVER = Long.MAX_VALUE;
  // The server counts milliseconds, so its message may arrive earlier than the wait is over here.
  private static final long EARLY_MAX = 5 * Clock.MILLISECOND;
  // A grant that arrives later than this part of the lease after its request is confirmed by RENEW,
  // from which the lease then counts: the time of the grant itself is not known here.
  private static final int LATE_DIVISOR = 10;
  private static final long GIVE_UP_MAX = 5000 * Clock.MILLISECOND;
  // A request without an answer may still reach the server within this time.
  private static final long UNDER_WAY_MAX = 10_000 * Clock.MILLISECOND;

  final LockOptions options;
  final Terms terms;
  final String owner;
  final Route to;
  final Server.Timers timers;
  final Message.Mailbox mail = new Message.Mailbox();
  Channel.Line line; // null until it waits over the channel

  private final Channel channel;
  private final boolean isNamed; // The owner was given, and may have been used before.
  private final Consumer<Message> listener = mail::put;
  private final long begunAt = Clock.now();
  private final CompletableFuture<Grant> result = new CompletableFuture<>();
  private final Failures.Backoff attempts = new Failures.Backoff();
  private volatile boolean isUnanswered; // A request may have been executed without an answer.
  private CompletableFuture<?> awaited; // what cancel interrupts
  private boolean isCancelled;

  Acquisition(LockOptions options, List<String> keys, String owner, Route to, Channel channel,
      Server.Timers timers) {
    this.options = options;
    this.terms = new Terms(keys, options);
    this.isNamed = options.owner != null;
    this.owner = isNamed ? options.owner : owner;
    this.to = to;
    this.channel = channel;
    this.timers = timers;
  }

  /** Ends with a grant, or with an exception after which nothing is left. To be called once. */
  CompletableFuture<Grant> run() {
    if (options.hearsLoss && options.mayWait()) {
      join();
    }
    attempt();
    return result;
  }

  /** Ends the wait; nothing is granted any more. A request that is under way is not interrupted. */
  void cancel() {
    CompletableFuture<?> it;
    synchronized (this) {
      isCancelled = true;
      it = awaited;
    }
    if (it != null) {
      it.completeExceptionally(new CancellationException());
    }
  }

  private synchronized boolean isCancelled() {
    return isCancelled;
  }

  private <T> CompletableFuture<T> interruptible(CompletableFuture<T> it) {
    synchronized (this) {
      awaited = it;
      if (!isCancelled) {
        return it;
      }
    }
    it.completeExceptionally(new CancellationException());
    return it;
  }

  private <T> CompletableFuture<T> within(long nanos, CompletableFuture<T> it,
      Supplier<Throwable> failure) {
    if (nanos < FOREVER) {
      ScheduledFuture<?> timer =
          timers.after(nanos, () -> it.completeExceptionally(failure.get()));
      it.whenComplete((done, why) -> timer.cancel(false));
    }
    return interruptible(it);
  }

  private void join() {
    line = channel.join(to);
    line.listen(terms.keys, owner, listener);
  }

  /** While the server cannot be reached, the same owner asks again, and keeps its place. */
  private void attempt() {
    CompletableFuture<Grant> asked;
    try {
      asked = isCancelled() ? CompletableFuture.failedFuture(new CancellationException()) : ask();
    } catch (RuntimeException e) {
      asked = CompletableFuture.failedFuture(e);
    }
    asked.whenComplete((grant, failure) -> {
      if (isCancelled()) {
        fail(new CancellationException());
      } else if (failure == null) {
        result.complete(grant);
      } else if (!Failures.isTemporary(failure) || left() == 0) {
        fail(Failures.translated(terms.keys, failure));
      } else {
        CompletableFuture<Void> pause = new CompletableFuture<>();
        long nanos = Math.min(attempts.pause(failure), left());
        timers.after(nanos, () -> pause.complete(null));
        interruptible(pause).whenComplete((done, why) -> attempt());
      }
    });
  }

  private void fail(RuntimeException failure) {
    abandon(failure).whenComplete((done, why) -> result.completeExceptionally(failure));
  }

  private long left() {
    return options.wait == null ? FOREVER
        : Math.max(0, begunAt + options.wait - Clock.now());
  }

  private long patience() {
    return options.wait == null ? FOREVER : left() + GRACE;
  }

  private CompletableFuture<Answer> send(List<String> words) {
    return to.ask(words).whenComplete((answer, failure) -> {
      if (failure != null && Failures.mayLeaveSomething(failure)) {
        isUnanswered = true;
      }
    });
  }

  /** Joins the channel only if the lock is not free: most locks are, and need a single request. */
  private CompletableFuture<Grant> ask() {
    if (line != null) {
      return askOverChannel();
    }
    return send(terms.lock(owner, 0L, null, false)).thenCompose(answer -> {
      if (answer.reply() instanceof Long token) {
        return accept(token, answer.sentAt());
      }
      if (!options.mayWait()) {
        return askWhy(null);
      }
      join();
      return askOverChannel();
    });
  }

  private CompletableFuture<Grant> askOverChannel() {
    CompletableFuture<Channel.Feed> ready = within(left(), line.ready(),
        () -> new TimeoutException("the channel is not subscribed"));
    return ready.exceptionallyCompose(failure -> {
      // A short wait may be over before the server has confirmed the subscription.
      boolean isOver = Failures.bare(failure) instanceof TimeoutException;
      return isOver && line.lastFailure() == null ? CompletableFuture.completedFuture(null)
          : CompletableFuture.failedFuture(isOver ? line.lastFailure() : failure);
    }).thenCompose(feed -> {
      if (feed == null) {
        return askWhy("timeout");
      }
      // A message about an earlier request must not be taken for the answer to this one.
      mail.takeAll();
      // Without an explanation, nil means a place in the queue, unless there are too many waiters.
      boolean explains = options.waitersMax != null;
      Long wait = options.wait == null ? null : Long.valueOf(Math.max(Clock.MILLISECOND, left()));
      return send(terms.lock(owner, wait, line.name, explains))
          .whenComplete((answer, failure) -> {
            if (failure != null && Failures.isWithoutSubscriber(failure)) {
              // The subscription is not at the server that has the key.
              feed.close(Failures.bare(failure));
            }
          }).thenCompose(answer -> {
            if (answer.reply() instanceof Long token) {
              return accept(token, answer.sentAt());
            }
            if (explains) {
              Explanation why = Explanation.of(answer.reply());
              if (!"queued".equals(why.status())) {
                return decide(why, answer);
              }
            }
            return listen(answer.sentAt());
          });
    });
  }

  private CompletableFuture<Grant> decide(Explanation why, Answer answer) {
    Long token = Explanation.tokenOf(answer.reply());
    if (token != null) {
      return accept(token, answer.sentAt());
    }
    Duration waited = options.mayWait() ? Duration.ofNanos(Clock.now() - begunAt) : Duration.ZERO;
    return CompletableFuture.failedFuture(
        new FairlockException.Denied(terms.keys, why, waited));
  }

  private CompletableFuture<Grant> accept(long token, long sentAt) {
    return Clock.now() - sentAt > options.lease / LATE_DIVISOR ? confirm(token)
        : CompletableFuture.completedFuture(new Grant(token, sentAt));
  }

  private CompletableFuture<Grant> confirm(long token) {
    return send(terms.renew(owner, token, options.lease)).thenApply(answer -> {
      if (!Long.valueOf(1).equals(answer.reply())) {
        throw new Failures.Again("the lease ended before its grant was confirmed");
      }
      return new Grant(token, answer.sentAt());
    });
  }

  /**
   * Waits for the message that ends the wait. If the owner was named, a message may still be about
   * a wait that was given up before.
   */
  private CompletableFuture<Grant> listen(long sentAt) {
    return within(patience(), mail.next(),
        () -> new Failures.Again("the server did not answer in time")).thenCompose(it -> {
          switch (it.event()) {
            case "subscribed":
              throw new Failures.Again("the connection of the channel was lost");
            case "granted":
              return isNamed ? confirm(it.token()) : accept(it.token(), sentAt);
            case "timeout":
              return left() <= EARLY_MAX ? askWhy("timeout") : listen(sentAt);
            case "cancelled":
              return isNamed ? listenIfWaiting(it, sentAt) : ended(it);
            case "superseded":
              return ended(it);
            default:
              return listen(sentAt);
          }
        });
  }

  private CompletableFuture<Grant> listenIfWaiting(Message it, long sentAt) {
    return send(terms.position(owner)).handle((answer, failure) ->
        failure == null ? answer.reply() != null : Failures.mayLeaveSomething(failure))
        .thenCompose(stillWaits -> stillWaits ? listen(sentAt) : ended(it));
  }

  private CompletableFuture<Grant> ended(Message it) {
    return CompletableFuture.failedFuture("deadlock".equals(it.reason())
        ? new FairlockException.Deadlock(terms.keys, "the owners wait for each other")
        : new FairlockException.WaitEnded(terms.keys, it.event()));
  }

  /**
   * Asks once more, without waiting, because neither nil nor the message about a time-out names
   * holders.
   */
  private CompletableFuture<Grant> askWhy(String status) {
    return send(terms.lock(owner, 0L, null, true)).thenCompose(answer -> {
      Explanation why = Explanation.of(answer.reply());
      return decide(status == null ? why : why.withStatus(status), answer);
    });
  }

  /** Releases what it may have got: a place in the queue, or a hold. */
  private CompletableFuture<Void> abandon(RuntimeException failure) {
    Throwable cause = failure.getClass() == FairlockException.class ? failure.getCause() : failure;
    boolean mayLeave = Failures.mayLeaveSomething(cause)
        || !isNamed && failure instanceof FairlockException.Deadlock;
    CompletableFuture<Void> done = CompletableFuture.completedFuture(null);
    if (mayLeave) {
      // If it was not cancelled, the server could not be reached during the whole wait.
      long until = Clock.now() + (failure instanceof CancellationException ? GIVE_UP_MAX : 0);
      done = new CompletableFuture<>();
      giveUpPlace(until, new Failures.Backoff(), done);
      if (isUnanswered && !isNamed) {
        // The release may overtake a request without an answer. A named owner may be in use by
        // then.
        done.thenRun(() -> timers.after(UNDER_WAY_MAX, () -> to.ask(terms.giveUp(owner))));
      }
    }
    return done.thenRun(this::leave);
  }

  private void giveUpPlace(long until, Failures.Backoff pauses, CompletableFuture<Void> done) {
    to.ask(terms.giveUp(owner)).whenComplete((answer, failure) -> {
      if (failure == null) {
        done.complete(null);
      } else if (!Failures.isTemporary(failure) || Clock.now() >= until) {
        LOG.log(System.Logger.Level.WARNING, "fairlock: giving up {0}: {1}",
            Explanation.Text.quoted(terms.keys), Failures.textOf(failure));
        done.complete(null);
      } else {
        timers.after(pauses.pause(failure), () -> giveUpPlace(until, pauses, done));
      }
    });
  }

  private void leave() {
    if (line != null) {
      line.leave(terms.keys, owner, listener);
    }
  }
}
