# Runs a burst of jobs for a few conversations on several worker processes: once with the SET NX
# mutex and retries, and once with fairlock's queue.
#
#   with_own_server.py --redis ruby load.rb [--jobs N] [--conversations N] [--workers N]
#                      [--threads N] [--work-ms N] [--retry-s S] [--attempts N] [--mutex NAME]...
#
# Prints a table. Sidekiq's queue is on the redis-server; each worker is a process with several
# threads. Ends by itself.

require "json"
require "optparse"
require "redis"

require_relative "../ruby/command_counts"
require_relative "webhook_jobs"

class Load
  REDIS_PORT = ENV.fetch("REDIS_PORT").to_i
  FAIRLOCK_PORT = ENV.fetch("FAIRLOCK_PORT").to_i
  GIVE_UP_S = 600
  # Each mutex has a title for the table, a job class, and the port of the server that has the
  # locks.
  Mutex = Struct.new(:title, :job, :port, :is_capped)
  MUTEXES = {
    "redis" => Mutex.new("SET NX on Redis", MutexWebhookJob, REDIS_PORT, true),
    "fairlock" => Mutex.new("SET NX on fairlock", MutexWebhookJob, FAIRLOCK_PORT, true),
    "redis-uncapped" => Mutex.new("SET NX on Redis, retried until done", MutexWebhookJob,
                                  REDIS_PORT, false),
    "wait" => Mutex.new("LOCK ... WAIT", WaitingWebhookJob, FAIRLOCK_PORT, false),
    "keep" => Mutex.new("LOCK ... KEEP, retried", ReturningWebhookJob, FAIRLOCK_PORT, false)
  }.freeze
  Result = Struct.new(:done, :overlaps, :violations, :gave_up, :drain_s, :lock_requests,
                      :queue_requests) do
    def requests = lock_requests + queue_requests
  end
  Options = Struct.new(:jobs, :conversations, :workers, :threads, :work_ms, :retry_s, :attempts,
                       keyword_init: true)
  DEFAULTS = { jobs: 200, conversations: 10, workers: 8, threads: 5, work_ms: 1000, retry_s: 1,
               attempts: 8 }.freeze
  LOCK_COMMANDS = %w[set del exists lock unlock].freeze
  # The queue commands that a job causes. Those that fetch jobs are left out, so that polling is not
  # counted.
  QUEUE_COMMANDS = %w[lpush sadd zadd zrem].freeze

  def initialize(**options)
    @options = Options.new(**DEFAULTS, **options)
    @redis = Redis.new(port: REDIS_PORT)
  end

  def run(mutex)
    @redis.flushall
    before = counts
    workers = start_workers(mutex)
    connect(mutex)
    begin_s = now
    enqueue(mutex.job)
    wait_until_drained
    drain_s = now - begin_s
    result_of(mutex, drain_s, before)
  ensure
    stop(workers || [])
  end

  private

  # Everything is loaded already, so a forked process can start work at once.
  def start_workers(mutex)
    Array.new(@options.workers) do
      fork do
        connect(mutex)
        launcher = SidekiqThreads.start(threads: @options.threads, schedule_s: 1)
        reader, writer = IO.pipe
        trap("TERM") { writer.close }
        reader.read
        launcher.stop
        exit!(0)
      end
    end
  end

  def stop(workers)
    workers.each { |worker| Process.kill(:TERM, worker) }
    workers.each { |worker| Process.wait(worker) }
  end

  # Connects the lock client of this process, which may be a fork.
  def connect(mutex)
    SidekiqThreads.connect(size: 20)
    if mutex.job == MutexWebhookJob
      MutexJob.locks = LockManager.new(Redis.new(port: mutex.port))
      mutex.job.rescue_handlers = []
      attempts = mutex.is_capped ? @options.attempts : 1_000_000
      mutex.job.tries_again(wait_s: @options.retry_s, attempts: attempts) do |job, _error|
        job.note("gave up", *job.arguments)
      end
    else
      Fairlock::ActiveJob.redis = Redis.new(port: mutex.port, timeout: 65)
    end
  end

  # Enqueues one burst, in a shuffled order that is the same for every mutex.
  def enqueue(job)
    conversations = Array.new(@options.jobs) { |n| n % @options.conversations }
    conversations.shuffle(random: Random.new(1)).each_with_index do |conversation, n|
      job.perform_later(conversation, n, @options.work_ms)
    end
  end

  # This process moves due jobs to the queue, too, because workers do so only once a second.
  def wait_until_drained
    give_up = now + GIVE_UP_S
    until @redis.llen("log") >= @options.jobs
      raise "not drained within #{GIVE_UP_S} s" if now > give_up

      SidekiqThreads.enqueue_due
      sleep 0.1
    end
  end

  def result_of(mutex, drain_s, before)
    log = @redis.lrange("log", 0, -1).map { |entry| JSON.parse(entry) }
    done = log.select { |entry| entry.first == "done" }
    by_conversation = done.group_by { |entry| entry[1] }.values
    locks, others = requests_since(before, mutex)
    Result.new(done.size, by_conversation.sum { |jobs| overlaps(jobs) },
               by_conversation.sum { |jobs| violations(jobs) }, log.size - done.size,
               drain_s, locks, others)
  end

  # Returns how many jobs started before another job of the same conversation had ended.
  def overlaps(jobs)
    jobs.sort_by { |job| job[3] }.each_cons(2).count { |first, second| second[3] < first[4] }
  end

  # Returns how many jobs started after a job that had been enqueued later.
  def violations(jobs)
    newest = -1
    jobs.sort_by { |job| job[3] }.count do |job|
      is_late = job[2] < newest
      newest = [newest, job[2]].max
      is_late
    end
  end

  def counts = [REDIS_PORT, FAIRLOCK_PORT].to_h { |port| [port, CommandCounts.of(port)] }

  # Counts requests for locks, and requests that move jobs into or out of the queue and the
  # schedule.
  def requests_since(before, mutex)
    after = counts
    asked = after.to_h do |port, calls|
      [port, calls.to_h { |name, count| [name, count - before[port].fetch(name, 0)] }]
    end
    queue = asked[REDIS_PORT]
    [asked[mutex.port].slice(*LOCK_COMMANDS).values.sum,
     queue.slice(*QUEUE_COMMANDS).values.sum + queue.fetch("lpush")]
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

def print_table(options, names)
  puts "| | jobs done | order violations | gave up | drained after | requests for locks | " \
       "for the queue |", "|---|---|---|---|---|---|---|"
  names.each do |name|
    mutex = Load::MUTEXES.fetch(name)
    result = Load.new(**options).run(mutex)
    raise "two jobs of one conversation at once" if result.overlaps.positive?

    puts format("| %s | %d | %d | %d | %.1f s | %d | %d |", mutex.title, result.done,
                result.violations, result.gave_up, result.drain_s, result.lock_requests,
                result.queue_requests)
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  options = {}
  names = []
  OptionParser.new do |parser|
    Load::DEFAULTS.each_key do |name|
      parser.on("--#{name.to_s.tr('_', '-')} N", Float) do |number|
        options[name] = number == number.to_i ? number.to_i : number
      end
    end
    parser.on("--mutex NAME", Load::MUTEXES.keys) { |name| names << name }
  end.parse!
  print_table(options, names.empty? ? Load::MUTEXES.keys : names)
end
