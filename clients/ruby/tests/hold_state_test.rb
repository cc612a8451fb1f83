# frozen_string_literal: true

# What a hold believes, whatever the order of replies and whichever of them are missing.

require_relative "support"

# Replies to requests as the test says. The block is called while a request is under way.
class ScriptedPort
  attr_reader :asked

  def initialize(replies, &between)
    @replies = replies.dup
    @between = between
    @asked = []
  end

  def ask(command)
    @asked << command
    sent_at, reply = @replies.shift
    @between&.call
    raise reply if reply.is_a?(Exception)

    Fairlock.module_eval("Answer", __FILE__, __LINE__).new(reply, sent_at)
  end
end

class BeliefTest < Minitest::Test
  TOKEN = 7
  LATER = 9

  def setup
    @granted_at = Fairlock.now
  end

  # A hold without a server, without renewal, and its port.
  def make_hold(*replies, keys: ["k"], prefix: "", &between)
    terms = part("Terms").new(keys: keys, lease: 10).with_prefix(prefix)
    @port = ScriptedPort.new(replies.map { |one| one.is_a?(Array) ? one : [Fairlock.now, one] },
                             &between)
    @state = part("HoldState").new(terms, "me", part("Grant").new(TOKEN, @granted_at))
    @hold = Fairlock::Hold.new(@port, @state, nil, false, nil)
  end

  def part(name) = Fairlock.module_eval(name, __FILE__, __LINE__)

  def held?
    @hold.check
    true
  rescue Fairlock::LostHold
    false
  end
end

class RenewalBeliefTest < BeliefTest
  def test_the_one_that_reaches_furthest_counts_in_every_order_of_replies
    leases = [3, 20, 60, 1]
    leases.each_index.to_a.permutation do |order|
      make_hold(*order.map { |number| [@granted_at + number, 1] })
      expected = @granted_at + 10
      order.each do |number|
        @hold.renew(lease: leases[number])
        expected = [expected, @granted_at + number + leases[number]].max
        assert_in_delta expected, @hold.deadline, 1e-6
      end
      assert held?
    end
  end

  def test_one_without_a_reply_changes_nothing
    make_hold(Redis::TimeoutError.new)
    assert_raises(Redis::TimeoutError) { @hold.renew(lease: 60) }
    assert_equal [@granted_at + 10, 10], [@hold.deadline, @state.lease]
    assert held?
  end

  def test_all_ask_the_server_not_to_shorten_the_lease
    make_hold(1)
    @hold.renew(lease: 3)
    assert_equal [["RENEW", "k", "me", "PX", 3000, "TOKEN", TOKEN, "GT"]], @port.asked
    make_hold(1, keys: %w[k j])
    @hold.renew(lease: 3)
    assert_equal [["MRENEW", 2, "k", "j", "me", "PX", 3000, "TOKEN", TOKEN, "GT"]], @port.asked
  end

  def test_a_refusal_is_final_whichever_reply_comes_later
    is_first = true
    hold = make_hold(1, 0) do
      if is_first
        is_first = false
        @port.instance_variable_get(:@replies).replace([[Fairlock.now, 0]])
        assert_raises(Fairlock::LostHold) { @hold.renew(lease: 20) }
      end
    end
    assert_raises(Fairlock::LostHold) { hold.renew(lease: 60) }
    assert_equal @granted_at + 10, hold.deadline
    refute held?
  end

  def test_a_shorter_lease_is_renewed_later_by_its_own_length
    make_hold([@granted_at, 1])
    @hold.renew(lease: 3)
    assert_in_delta @granted_at + 9, @state.renew_at, 1e-6
  end
end

class TransferBeliefTest < BeliefTest
  CUT = Redis::ConnectionError.new("cut")
  TIMEOUT = Redis::TimeoutError.new("late")
  FAIL_OVER = Redis::CommandError.new("CLUSTERDOWN no leader")
  REFUSED = Redis::CommandError.new("ERR new-owner: 'heir' holds this key already")

  def self.lock_info(*holders)
    holders = holders.map { |owner, token| ["owner", owner, "token", token, "held_ms", 1] }
    ["key", "k", "holders", holders]
  end

  HEIR = lock_info(["another", 3], ["heir", LATER])
  # {the replies to TRANSFER and LOCKINFO, in order => what transfer returns or raises}
  TRANSFERS = {
    [LATER] => LATER,
    [nil] => Fairlock::LostHold,
    [REFUSED] => Redis::CommandError,
    [CUT, LATER] => LATER,
    [FAIL_OVER, TIMEOUT, LATER] => LATER,
    [CUT, nil, HEIR] => LATER,
    [CUT, nil, CUT, nil, HEIR] => LATER,
    [CUT, nil, lock_info(["heir", TOKEN - 1])] => Fairlock::LostHold,
    [CUT, nil, lock_info(["another", LATER])] => Fairlock::LostHold,
    [CUT, nil, lock_info] => Fairlock::LostHold,
    [CUT, REFUSED] => Redis::CommandError,
    [CUT, nil, REFUSED] => Redis::CommandError
  }.freeze

  # While there is no answer, the hold is not held.
  def transfer(replies)
    make_hold(*replies.map { |reply| [Fairlock.now, reply] }) do
      refute held?
      yield if block_given?
      refute held?
    end
    @hold.transfer("heir")
  rescue StandardError => error
    error
  end

  def judge(replies, expected, outcome)
    if expected.is_a?(Integer)
      assert_equal expected, outcome
      assert_nil @state.lost
      assert @state.released?
    else
      assert_kind_of expected, outcome
      refute @state.released?
    end
    assert_equal replies == [REFUSED], held?
    assert_equal replies.size, @port.asked.size
  end

  def test_only_a_refusal_makes_the_hold_certain_again
    TRANSFERS.each { |replies, expected| judge(replies, expected, transfer(replies)) }
  end

  def test_all_its_requests_name_the_key_with_the_prefix_of_the_client
    make_hold([0, CUT], [0, nil], [0, HEIR], prefix: "app:")
    assert_equal LATER, @hold.transfer("heir")
    assert_equal [%w[TRANSFER app:k], %w[TRANSFER app:k], %w[LOCKINFO app:k]],
                 (@port.asked.map { |command| command.first(2) })
  end

  def test_a_renewal_confirms_nothing
    TRANSFERS.each do |replies, expected|
      judge(replies, expected, transfer(replies) { @state.renewed(20, Fairlock.now) })
    end
  end

  def test_a_message_about_the_end_counts_unless_the_transfer_was_confirmed
    message = Struct.new(:event, :token, :reason).new("lost", TOKEN, "transferred")
    TRANSFERS.each do |replies, expected|
      transfer(replies) { @state.hear(message) }
      refute held?
      assert_equal expected.is_a?(Integer), @state.lost.nil?
      assert_match(/transferred/, @state.lost) if @state.lost
    end
  end

  def test_one_that_is_interrupted_loses_the_hold
    make_hold(Interrupt.new)
    assert_raises(Interrupt) { @hold.transfer("heir") }
    refute held?
    assert_match(/not confirmed its transfer to heir/, @state.lost)
  end

  def test_a_second_one_at_once_is_refused
    make_hold(LATER) { assert_raises(Fairlock::LostHold) { @hold.transfer("b") } }
    assert_equal LATER, @hold.transfer("heir")
  end
end
