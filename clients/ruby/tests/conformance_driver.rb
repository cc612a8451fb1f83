# frozen_string_literal: true

# Driver for tests/clients/conformance: uses fairlock as an application with threads would.

require "json"

$LOAD_PATH.unshift(File.join(__dir__, "../lib"))
require "fairlock"

$stdout.sync = true

# Each request has its own thread, which `cancel` interrupts.
class Driver
  OPTIONS = %i[lease wait renew owner shared limit min_hold keep label meta].freeze
  NAMES = { Fairlock::LostHold => "LostHold", Fairlock::WaitEnded => "WaitEnded",
            Fairlock::Deadlock => "Deadlock", Fairlock::NotFairlock => "NotFairlock" }.freeze
  RATE_SLICES = 75

  # What `cancel` raises in the thread of an acquisition.
  class Cancelled < StandardError; end

  def initialize
    @redis = Redis.new(**client_options)
    @holds = {}
    @acquiring = {}
    @opening = Mutex.new
  end

  def run
    $stdin.each_line do |line|
      request = JSON.parse(line, symbolize_names: true)
      break if request[:do] == "exit"

      Thread.new { reply_to(request) }
    end
    exit!(0)
  end

  private

  def client_options
    options = { timeout: ENV.fetch("FAIRLOCK_READ_TIMEOUT", "5").to_f, reconnect_attempts: 0 }
    if ENV.key?("FAIRLOCK_CLUSTER")
      # The URL names the user, and whether clients use TLS.
      login = ENV.fetch("FAIRLOCK_URL", "redis://")[%r{.*@|\w+://}]
      options[:cluster] = ENV["FAIRLOCK_CLUSTER"].split(",").map { |node| "#{login}#{node}" }
    elsif ENV.key?("FAIRLOCK_SENTINELS")
      sentinels = ENV["FAIRLOCK_SENTINELS"].split(",").map do |address|
        %i[host port].zip(address.split(":")).to_h
      end
      options.update(url: "redis://main", sentinels: sentinels, role: :master)
    else
      options[:url] = ENV.fetch("FAIRLOCK_URL")
    end
    options[:ssl_params] = { ca_file: ENV.fetch("FAIRLOCK_CA") } if ENV.key?("FAIRLOCK_CA")
    options
  end

  def write(**fields) = $stdout.write("#{JSON.generate(fields)}\n")

  def reply_to(request)
    write(id: request[:id], **send("do_#{request[:do]}", request))
  rescue Fairlock::Denied => error
    why = error.explanation
    write(id: request[:id], error: "Denied", text: error.message, reason: why.reason,
          position: why.position, eta: why.eta, holders: why.holders.map(&:owner))
  rescue Cancelled
    @holds.delete(request[:hold])&.release # the lock was granted at that moment
    write(id: request[:id], error: "Cancelled")
  rescue StandardError => error
    write(id: request[:id], error: NAMES.fetch(error.class, "Failed"),
          text: "#{error.class}: #{error.message}")
  end

  def channel(request)
    return unless request[:channel]

    @opening.synchronize { @channel ||= Fairlock::Channel.new(@redis) }
  end

  def lock(request)
    name = request[:hold]
    Fairlock.lock(@redis, *request[:keys], channel: channel(request),
                                           on_lost: ->(_hold) { write(event: "lost", hold: name) },
                                           **request.slice(*OPTIONS))
  end

  # An interrupt that arrives after the grant must not lose the hold.
  def do_acquire(request)
    Thread.handle_interrupt(Cancelled => :never) do
      @acquiring[request[:id]] = Thread.current
      hold = Thread.handle_interrupt(Cancelled => :on_blocking) { lock(request).acquire }
      @acquiring.delete(request[:id])
      granted(request, hold)
    end
  end

  def do_try(request)
    hold = lock(request).try_acquire
    hold ? granted(request, hold) : { token: nil }
  end

  def granted(request, hold)
    @holds[request[:hold]] = hold
    { token: hold.token, owner: hold.owner }
  end

  def do_cancel(request)
    @acquiring.delete(request[:acquire])&.raise(Cancelled)
    { ok: true }
  end

  def do_release(request)
    raise Fairlock::LostHold, "it was lost before" unless @holds.fetch(request[:hold]).release

    { ok: true }
  end

  def do_renew(request)
    @holds.fetch(request[:hold]).renew(lease: request[:lease])
    { ok: true }
  end

  def do_left(request) = { left: @holds.fetch(request[:hold]).deadline - Fairlock.now }

  def do_check(request)
    @holds.fetch(request[:hold]).check
    { ok: true }
  end

  def do_token(request) = { token: @holds.fetch(request[:hold]).token }

  def do_transfer(request) = { token: @holds.fetch(request[:hold]).transfer(request[:to]) }

  def do_fork(request)
    reading, writing = IO.pipe
    child = fork do
      @holds.fetch(request[:hold]).check
      writing.write("held")
    rescue Fairlock::Error => error
      writing.write(NAMES[error.class])
    ensure
      exit!(0)
    end
    writing.close
    Process.wait(child)
    { child: reading.read }
  end

  def do_work(request)
    finish_at = Fairlock.now + request.fetch(:seconds, 0)
    lock = Fairlock.lock(@redis, request[:key], lease: request.fetch(:lease, 30),
                                                channel: channel(request))
    tokens = []
    threads = Array.new(request[:count]) do
      Thread.new do
        loop do
          lock.synchronize { |hold| tokens << hold.token }
          break if Fairlock.now >= finish_at
        end
      end
    end
    threads.each(&:join)
    { grants: tokens.size, rising: tokens == tokens.sort.uniq }
  end

  # Divides the time into many slices, which alternate between the two loops, and returns the best
  # one of each.
  def do_rate(request)
    best = { library: 0, raw: 0 }
    loops = { library: -> { Fairlock.lock(@redis, "rate") { nil } }, raw: method(:raw_lock) }
    RATE_SLICES.times do
      loops.each do |name, call|
        best[name] = [best[name], per_second(request[:seconds] / (2.0 * RATE_SLICES), call)].max
      end
    end
    best
  end

  def per_second(seconds, call)
    began = Fairlock.now
    count = 0
    while Fairlock.now < began + seconds
      call.call
      count += 1
    end
    count / (Fairlock.now - began)
  end

  # The gem's cluster client finds the key of a command if its name is in lower case.
  def raw_lock
    token = @redis.call("lock", "rate:raw", "raw", "PX", 30_000)
    @redis.call("unlock", "rate:raw", "raw", "TOKEN", token)
  end
end

Driver.new.run
