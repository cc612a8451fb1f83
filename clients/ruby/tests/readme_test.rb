# frozen_string_literal: true

# Every example of the README on one server: with_own_server.py --redis starts it, and a Redis for
# Sidekiq. tls_test.rb, fleet_test.py and cluster_test.py run the
# others.

require "minitest/autorun"
require "sidekiq"

require_relative "readme_examples"

$LOAD_PATH.unshift(File.join(__dir__, "../lib"))
require "fairlock/active_job"

Sidekiq.redis = { url: "redis://127.0.0.1:#{ENV.fetch('REDIS_PORT')}" }
ActiveJob::Base.queue_adapter = :inline
ActiveJob::Base.logger = nil

# What the jobs of the examples work with.
module Inbox
  def self.written = @written ||= []
  def self.write(*what) = written << what
end

class ReadmeTest < Minitest::Test
  def test_every_example
    counts = ReadmeExamples.all.filter_map do |text|
      next if text.match?(/sentinels|ssl|cluster:/)

      ReadmeExamples.run(text, "port: 3247" => "port: #{ENV.fetch('FAIRLOCK_PORT')}").size
    end
    # The denied deployment does nothing; the jobs work elsewhere.
    assert_equal [1, 0, 3, 5, 1, 20, 0, 1, 1], counts
    assert_equal [42, "created"], Inbox.written.first.first(2)
  end
end
