# Runs the same tests against Redis and fairlock, for clients that switch servers by changing only
# the address.

require "minitest/autorun"
require "securerandom"

require_relative "eventually"

module EachServer
  PORTS = { "Redis" => ENV.fetch("REDIS_PORT").to_i,
            "Fairlock" => ENV.fetch("FAIRLOCK_PORT").to_i }.freeze

  # Defines a test class for each server; its instances know the server's `port`.
  def self.test(name, &tests)
    PORTS.each do |server, port|
      test_case = Class.new(Minitest::Test) do
        include Eventually
        define_method(:port) { port }
        define_method(:on_fairlock?) { server == "Fairlock" }
        class_eval(&tests)
      end
      Object.const_set("#{name}On#{server}", test_case)
    end
  end
end
