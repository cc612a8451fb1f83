# Compares unique jobs on fairlock with unique jobs on Redis with Lua, both in one run.
#
#   with_own_server.py --redis ruby benchmark.rb [--quick]
#
# Prints a table. Both sides use the same gem and the same middleware; each round runs both, in
# alternating order. The time is that of each side's best round, which other programs disturbed
# least. The CPU time is that of both servers together; rounds are compared by their median ratio.
# With FAIRLOCK_FIGURES, also writes the ratios to that file; with --quick, only those of the CPU
# time, because the time of short rounds is not reliable while other programs run.

require_relative "../ruby/gem"
require_relative "../ruby/raw_client"
require_relative "../ruby/server_meter"
require_relative "../ruby/sidekiq_threads"
require_relative "redis_store"

require "fairlock/sidekiq"

# The job that both stores run.
class BenchmarkJob
  include Sidekiq::Worker

  sidekiq_options unique: :until_executed

  DONE = Queue.new

  def perform(number) = DONE << number
end

# Takes the same arguments as RedisStore.
class FairlockStore < Fairlock::Sidekiq::Store
  def unlock(digest, jid, **) = super(digest, jid)
  def hold(digest, jid, ttl: nil, **options, &block) = super(digest, jid, **options, &block)
end

class Benchmark
  THREADS = 10
  META = { worker: "ImportWorker", queue: "default", limit: 1, timeout: nil, ttl: 60,
           type: "until_executed", at: 1_700_000_000.5, args: [42, "shop"] }.freeze
  WHAT = { type: "until_executed", limit: 1, ttl: 60, meta: META }.freeze
  PIDS = { fairlock: ENV.fetch("FAIRLOCK_PID"), redis: ENV.fetch("REDIS_PID") }.freeze
  # The results of a round: the elapsed time, and the CPU time of both servers.
  Figures = Struct.new(:seconds, :cpu_s)

  def initialize(quick:)
    @quick = quick
    @rounds = quick ? 5 : 11
    @size = quick ? 1 : 4
    @fairlock = RawClient.new(port: ENV.fetch("FAIRLOCK_PORT"))
    @stores = { fairlock: FairlockStore.new(Redis.new(port: ENV.fetch("FAIRLOCK_PORT"))),
                redis: RedisStore.new(port: ENV.fetch("REDIS_PORT"), connections: 30) }
    @number = 0
    Fairlock::Sidekiq.install(Redis.new(port: ENV.fetch("FAIRLOCK_PORT")))
  end

  def run
    puts "| | Redis with Lua | fairlock | time | CPU of the servers |", "|---|---|---|---|---|"
    case_of("lock and unlock, one thread", 500) { |store, n| lock_and_unlock(store, n) }
    case_of("lock and execute, one thread", 500) { |store, n| lock_and_execute(store, n) }
    case_of("no contention, #{THREADS} threads", 1000) { |store, n| without_contention(store, n) }
    case_of("contention, #{THREADS} threads try", 1000) { |store, n| contention(store, n) }
    case_of("contention, #{THREADS} threads in turn", 200) { |store, n| turns(store, n) }
    jobs
    memory
  end

  private

  def case_of(name, count, scale: @size, figure: "case")
    rounds = Array.new(@rounds) do |round|
      order = round.even? ? @stores.keys : @stores.keys.reverse
      # Cleans up first, so that the side that runs first does not pay for the previous round.
      order.to_h do |side|
        GC.start
        [side, measured { yield @stores[side], count * scale }]
      end
    end
    print_case(name, count * scale, rounds, figure)
  end

  def measured
    cpu = PIDS.values.sum { |pid| ServerMeter.cpu_s(pid) }
    begin_s = now
    yield
    Figures.new(now - begin_s, PIDS.values.sum { |pid| ServerMeter.cpu_s(pid) } - cpu)
  end

  def print_case(name, count, rounds, figure)
    each_us = @stores.keys.to_h do |side|
      [side, rounds.map { |round| round[side].seconds }.min / count * 1e6]
    end
    time = each_us[:fairlock] / each_us[:redis]
    cpu = median(rounds.map { |round| round[:fairlock].cpu_s / round[:redis].cpu_s })
    puts format("| %s | %.0f us | %.0f us | %.2f | %.2f |",
                name, each_us[:redis], each_us[:fairlock], time, cpu)
    note("#{figure}_cpu_of_redis", cpu)
    note("#{figure}_time_of_redis", time) unless @quick
  end

  def note(name, value)
    return unless (path = ENV.fetch("FAIRLOCK_FIGURES", nil))

    File.write(path, "unique_jobs.#{name} #{value}\n", mode: "a")
  end

  def lock_and_unlock(store, count)
    count.times do
      digest = next_digest
      expect(store.lock(digest, "jid", **WHAT))
      expect(store.unlock(digest, "jid", type: WHAT[:type]))
    end
  end

  def lock_and_execute(store, count)
    ran = 0
    count.times { expect(store.hold(next_digest, "jid", **WHAT) { ran += 1 }) }
    expect(ran == count)
  end

  def without_contention(store, count)
    in_threads do |thread|
      (count / THREADS).times do |n|
        digest = "unique:ImportWorker:#{thread}:#{n}"
        expect(store.lock(digest, "jid", **WHAT))
        expect(store.unlock(digest, "jid", type: WHAT[:type]))
      end
    end
  end

  # All requests are denied; if some were granted, one side could have more to release than the
  # other.
  def contention(store, count)
    digest = next_digest
    expect(store.lock(digest, "holder", **WHAT))
    in_threads do |thread|
      (count / THREADS).times { expect(!store.lock(digest, "jid-#{thread}", **WHAT)) }
    end
    expect(store.unlock(digest, "holder", type: WHAT[:type]))
  end

  # Every client gets the lock equally many times. On Redis, clients poll for it.
  def turns(store, count)
    digest = next_digest
    inside = 0
    in_threads do |thread|
      (count / THREADS).times do
        sleep 0.001 until store.lock(digest, "jid-#{thread}", wait: 30, **WHAT)
        expect((inside += 1) == 1)
        Thread.pass
        inside -= 1
        expect(store.unlock(digest, "jid-#{thread}", type: WHAT[:type]))
      end
    end
  end

  # Sidekiq pushes and runs the jobs; both sides have its queue on the same Redis. With fairlock,
  # two servers sleep and wake for each job instead of one. Where system calls are expensive (on
  # some virtual machines), that costs as much as the scripts.
  def jobs
    SidekiqThreads.while(threads: 20) do
      case_of("500 jobs on 20 threads", 500, scale: 1, figure: "jobs") do |store, count|
        Fairlock::Sidekiq.store = store
        count.times { expect(BenchmarkJob.perform_async(@number += 1)) }
        count.times { BenchmarkJob::DONE.pop }
      end
    end
  end

  # Measures the bytes of memory per held digest, including its metadata.
  def memory
    fill_history
    count = 10_000 * @size
    bytes = @stores.to_h do |side, store|
      before = ServerMeter.resident_bytes(PIDS[side])
      count.times { |n| store.lock("unique:ImportWorker:#{format('%032x', n)}", jid(n), **WHAT) }
      [side, (ServerMeter.resident_bytes(PIDS[side]) - before) / count]
    end
    puts format("| memory of a held digest | %d bytes | %d bytes | %.2f | |",
                bytes[:redis], bytes[:fairlock], bytes[:fairlock].fdiv(bytes[:redis]))
    note("bytes_of_redis", bytes[:fairlock].fdiv(bytes[:redis]))
  end

  # Fills the history, so that its fixed-size memory is allocated before memory is measured.
  def fill_history
    pairs = [%w[LOCK filling jid], %w[UNLOCK filling jid]] * 2500
    100.times do
      before = ServerMeter.resident_bytes(PIDS[:fairlock])
      3.times { @fairlock.pipelined(pairs) }
      return if ServerMeter.resident_bytes(PIDS[:fairlock]) == before
    end
    raise "the history grows and grows"
  end

  def in_threads(&block)
    Array.new(THREADS) { |thread| Thread.new(thread, &block) }.each(&:value)
  end

  def next_digest = "unique:ImportWorker:#{@number += 1}"
  def jid(number) = format("%024x", number)
  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  def median(values) = values.sort[values.size / 2]

  def expect(holds)
    raise "a lock was not as it has to be" unless holds
  end
end

Benchmark.new(quick: ARGV.include?("--quick")).run
