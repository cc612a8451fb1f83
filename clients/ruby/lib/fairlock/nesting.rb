# frozen_string_literal: true

require_relative "errors"
require_relative "explanation"

module Fairlock
  # What each thread holds. A thread that waits for what it holds itself would wait for ever. With a
  # scheduler of fibres, only the fibre would: others go on, and may release the lock.
  module Nesting
    # A hold, the fibre that took it, and the connections of its client.
    Entry = Struct.new(:holding, :fiber, :place)
    HELD = :fairlock_held
    private_constant :Entry, :HELD

    module_function

    # What the thread that is running holds: {key: [Entry]}. Other threads may remove from it.
    def here
      thread = Thread.current
      thread.thread_variable_get(HELD) || thread.thread_variable_set(HELD, {})
    end

    # The thread has the hold now. Forgets those whose release was interrupted.
    def note(held, holding, place)
      entry = Entry.new(holding, Fiber.current, place)
      holding.terms.keys_on_server.each do |key|
        entries = held[key.b] ||= []
        entries.reject! { |other| other.holding.over? } if entries.any?
        entries << entry
      end
    end

    # The hold is over.
    def forget(held, holding)
      holding.terms.keys_on_server.each do |key|
        entries = held[key.b] || next
        entries.reject! { |entry| entry.holding.equal?(holding) }
        held.delete(key.b) if entries.empty?
      end
    end

    # Raises Deadlock if these terms cannot be granted before the thread, or the fibre, releases
    # what it holds.
    def refuse(terms, place)
      held = here
      return if held.empty?

      terms.keys_on_server.zip(terms.keys) do |key, name|
        mine = holds(held, key, place)
        next unless mine.any? { |holding| excludes?(holding.terms, terms, mine.size) }

        who = Fiber.current_scheduler ? "fibre" : "thread"
        raise Deadlock, "#{Fairlock.shown(name)} is held by this #{who} already, as " \
                        "#{Fairlock.shown(mine.first.owner)}: the wait would never end. If " \
                        "another #{who} releases it, give each acquisition an owner; if an " \
                        "inner block may share it, take it with reentrant: true"
      end
    end

    # What the thread, or the fibre, holds of the same keys in the same way, for this owner if one
    # is given, or nil.
    def reentered(terms, place, owner)
      keys = terms.keys_on_server.map(&:b).sort
      holds(here, keys.first, place).find do |holding|
        mine = holding.terms
        mine.mode == terms.mode && mine.keys_on_server.map(&:b).sort == keys &&
          (owner.nil? || owner.to_s.b == holding.owner.to_s.b) && holding.certain?
      end
    end

    def holds(held, key, place)
      scheduled = Fiber.current_scheduler && Fiber.current
      held.fetch(key.b, []).filter_map do |entry|
        next unless entry.place.equal?(place) && (!scheduled || entry.fiber.equal?(scheduled))

        entry.holding if entry.holding.held?
      end
    end

    # A mode is :exclusive, :shared or the limit.
    def excludes?(mine, wanted, count)
      return mine.mode != wanted.mode if [mine.mode, wanted.mode].include?(:shared)
      return true if [mine.mode, wanted.mode].include?(:exclusive)

      count >= [mine.mode, wanted.mode].min
    end
  end
  private_constant :Nesting
end
