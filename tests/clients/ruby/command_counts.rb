# Counts the commands that a server has executed, as shown by INFO.

require "redis"

module CommandCounts
  # Not counted: what the gem sends when it connects, and INFO itself.
  IGNORED = %w[info command hello client|setinfo].freeze

  # Returns the number of calls of each command so far, including calls by scripts.
  def self.of(port)
    redis = Redis.new(port: port)
    counts = redis.call("INFO", "commandstats").scan(/^cmdstat_([^:]+):calls=(\d+)/).to_h
    redis.close
    counts.transform_values(&:to_i).except(*IGNORED)
  end

  # Returns how many calls of each command were made during the block.
  def self.during(port)
    before = of(port)
    yield
    of(port).to_h { |name, calls| [name, calls - before.fetch(name, 0)] }
            .reject { |_, calls| calls.zero? }
  end
end
