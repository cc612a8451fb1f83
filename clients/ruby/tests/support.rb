# frozen_string_literal: true

# What the tests share: a server, clients, and views of a lock from outside.

require "fileutils"
require "minitest/autorun"
require "socket"
require "tmpdir"

$LOAD_PATH.unshift(File.join(__dir__, "../lib"))
require "fairlock"

# A fairlockd on a free port of this machine.
class OwnServer
  PROGRAM = ENV.fetch("FAIRLOCKD")
  PORTS = (20_000...32_000).step(2).to_a
  STARTS_MAX = 5
  WAIT_SECONDS_MAX = 20
  @leases = [] # stay open until the process ends

  attr_reader :port, :process

  # A free port, which no other process of the tests gets before this process ends: see free_port in
  # tests/integration/own_server.py, which states the rule for all languages.
  def self.free_port
    loop do
      port = PORTS.sample
      lease = TCPServer.open("127.0.0.1", port + 1)
      TCPServer.open("127.0.0.1", port).close
      @leases << lease
      return port
    rescue Errno::EADDRINUSE
      lease&.close
    end
  end

  def initialize(*options)
    @options = options
    @directory = Dir.mktmpdir("fairlock-")
    STARTS_MAX.times do
      @port = OwnServer.free_port
      return if start
    end
    raise "#{PROGRAM} did not start: #{File.read(File.join(@directory, 'output'))}"
  end

  # Returns false if it ended at once, for example because another process took the port.
  def start
    @process = spawn(PROGRAM, "--bind", "127.0.0.1", "--port", port.to_s, "--http-port", "0",
                     "--durability", "none", *@options,
                     chdir: @directory, in: File::NULL, %i[out err] => "#{@directory}/output")
    give_up = Fairlock.now + WAIT_SECONDS_MAX
    loop do
      Redis.new(port: port, reconnect_attempts: 0).tap(&:ping).close
      return true
    rescue Redis::BaseError
      return false if Process.wait(@process, Process::WNOHANG)
      raise "#{PROGRAM} does not answer" if Fairlock.now > give_up

      sleep 0.01
    end
  end

  def stop(signal = :TERM)
    return if @process.nil?

    Process.kill(signal, @process)
    Process.wait(@process)
    @process = nil
  end

  def close
    stop
    FileUtils.rm_rf(@directory)
  end
end

# Each test has its own server.
class Case < Minitest::Test
  WAIT_SECONDS_MAX = 20

  def server_options = []

  def setup
    @server = OwnServer.new(*server_options)
    @clients = []
    @threads = []
    @outside = client
  end

  def teardown
    @threads.each { |thread| end_thread(thread) }
    @clients.each(&:close)
    @server.close
  end

  def client(port: @server.port, **options)
    Redis.new(host: "127.0.0.1", port: port, **options).tap { |redis| @clients << redis }
  end

  def ask(*command) = @outside.call(*command)

  # The owners in the queue.
  def waiters(key)
    # A map is a flat list in RESP 2, and a hash in RESP 3.
    places = ask("QUEUE", key).map { |place| place.is_a?(Hash) ? place : place.each_slice(2).to_h }
    places.map { |place| place["owner"] }
  end

  def assert_nothing_left(*keys)
    keys.each { |key| assert_equal [0, []], [ask("LOCKED", key), waiters(key)], key }
  end

  # How often the server has executed this command.
  def commands(name)
    ask("INFO", "commandstats")[/^cmdstat_#{name}:calls=(\d+)/, 1].to_i
  end

  def wait_until(seconds = WAIT_SECONDS_MAX)
    give_up = Fairlock.now + seconds
    until yield
      flunk("it did not become true") if Fairlock.now > give_up
      sleep 0.005
    end
  end

  def next_of(queue)
    wait_until { !queue.empty? }
    queue.pop
  end

  def end_thread(thread)
    thread.kill.join
  rescue StandardError, Interrupt
    nil # its result was of no interest
  end

  def in_thread(&call)
    thread = Thread.new(&call)
    thread.report_on_exception = false
    @threads << thread
    thread
  end

  def result_of(thread)
    thread.join(WAIT_SECONDS_MAX) || flunk("the call did not end")
    thread.value
  end
end
