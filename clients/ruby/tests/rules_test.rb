# frozen_string_literal: true

# Rules for every argument and every error, in all versions of the redis gem.

require "json"

require_relative "support"

class RulesTest < Case
  YEAR = 365 * 24 * 3600
  NO_DURATIONS = [Float::INFINITY, -Float::INFINITY, Float::NAN, -1, -0.001, YEAR + 1, "5", :five,
                  [5], {}, Object.new, true, Complex(1, 1)].freeze

  def test_what_is_no_number_of_seconds_is_refused_at_the_call
    hold = Fairlock.lock(client, "held").acquire
    calls = %i[lease wait keep min_hold].to_h do |name|
      [name, ->(value) { Fairlock.lock(client, "k", name => value) }]
    end
    calls[:renew] = ->(value) { hold.renew(lease: value) }
    calls[:transfer] = ->(value) { hold.transfer("other", lease: value) }
    calls.each do |name, call|
      NO_DURATIONS.each do |value|
        error = assert_raises(ArgumentError, "#{name}: #{value.inspect}") { call.call(value) }
        assert_match(/must be a number of seconds/, error.message)
      end
    end
    %i[lease renew transfer].each do |name|
      assert_raises(ArgumentError) { calls[name].call(0) }
    end
    assert hold.release
    assert_nothing_left("k", "held")
  end

  def test_every_text_can_be_printed
    ["\xFF\xFE".b, "\x00\x02\x11\xEC\xFF".b, "\u00e4", "a\nb\e[2J", "\u2028"].each do |name|
      ask("LOCK", name, name, "PX", 60_000)
      error = assert_raises(Fairlock::Denied) { Fairlock.lock(client, name, wait: 0.01).acquire }
      [error.message, error.explanation.to_s].each do |text|
        assert_predicate text, :valid_encoding?
        refute_match(/[^[:print:]]/, text)
        JSON.generate(text: text)
      end
      assert_equal name.b, error.explanation.holders.first.owner.b
    end
  end

  def test_a_denial_names_the_key_the_holder_and_the_wait
    ask("LOCK", "order:42", "worker-2")
    error = assert_raises(Fairlock::Denied) do
      Fairlock.lock(client, "order:42", wait: 0.1).acquire
    end
    assert_match(/\Aorder:42 not granted in 0\.1 s: held by worker-2 for \d/, error.message)
    error = assert_raises(Fairlock::Denied) do
      Fairlock.lock(client, "a", "order:42", wait: 0).acquire
    end
    assert_match(/\Aa, order:42 not granted: held by worker-2 .* \(order:42\)\z/, error.message)
  end

  def test_a_second_release_says_that_nothing_was_held
    hold = Fairlock.lock(client, "k").acquire
    assert_equal([true, false, false], Array.new(3) { hold.release })
  end

  def test_errors_of_the_connection_are_those_of_the_gem
    nobody = Redis.new(host: "127.0.0.1", port: OwnServer.free_port)
    hold = Fairlock.lock(client, "k", lease: 60).acquire
    @server.stop(:KILL)
    [-> { Fairlock.lock(nobody, "k", wait: 0).acquire },
     -> { Fairlock.lock(nobody, "k", wait: 0.2).acquire },
     -> { Fairlock.lock(client, "k", wait: 0.2).acquire },
     -> { Fairlock::Channel.new(nobody) }, -> { hold.renew }].each do |call|
      assert_raises(Redis::BaseConnectionError, &call)
    end
  end

  def test_a_channel_survives_a_lost_connection
    channel = Fairlock::Channel.new(client)
    3.times do
      ask("CLIENT", "KILL", "TYPE", "pubsub")
      Fairlock.lock(client, "k", wait: 20, channel: channel).acquire.release
    end
    channel.close
  end
end
