# Counts the commands that a server has executed, as shown by INFO.

require "redis"

module CommandCounts
  # Returns the number of calls of each command so far, including calls by scripts, but not INFO
  # itself.
  def self.of(port)
    redis = Redis.new(port: port)
    counts = redis.call("INFO", "commandstats").scan(/^cmdstat_([^:]+):calls=(\d+)/).to_h
    redis.close
    counts.transform_values(&:to_i).reject { |name, _| %w[info command].include?(name) }
  end

  # Returns how many calls of each command were made during the block.
  def self.during(port)
    before = of(port)
    yield
    of(port).to_h { |name, calls| [name, calls - before.fetch(name, 0)] }
            .reject { |_, calls| calls.zero? }
  end
end
