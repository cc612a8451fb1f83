# frozen_string_literal: true

# Locks over TLS: with_own_server.py --tls starts the server and makes the certificates.

require "minitest/autorun"

$LOAD_PATH.unshift(File.join(__dir__, "../lib"))
require_relative "readme_examples"
require "fairlock"

class TlsTest < Minitest::Test
  PORT = ENV.fetch("FAIRLOCK_TLS_PORT")

  def test_the_example_of_the_readme
    example = ReadmeExamples.all.find { |text| text.include?("ssl_params") }
    done = ReadmeExamples.run(example, "port: 3247" => "port: #{PORT}",
                                       "/etc/fairlock/ca.pem" => ENV.fetch("FAIRLOCK_TLS_CA"),
                                       "/etc/fairlock/client.pem" => ENV.fetch("FAIRLOCK_TLS_CERT"),
                                       "/etc/fairlock/client.key" => ENV.fetch("FAIRLOCK_TLS_KEY"))
    assert_equal 42, done.first.first
    refute Redis.new(port: ENV.fetch("FAIRLOCK_PORT")).call("LOCKED", "order:42").positive?
  end

  def test_a_server_that_is_not_trusted_is_not_asked_again
    redis = Redis.new(port: PORT, ssl: true)
    begun = Fairlock.now
    error = assert_raises(OpenSSL::SSL::SSLError, Redis::BaseError) do
      Fairlock.lock(redis, "k", wait: 60).acquire
    end
    assert_match(/certificate verify failed/, error.message)
    assert_operator Fairlock.now - begun, :<, 10
  end

  # The gem does not translate the errors of OpenSSL, such as the end of a connection.
  def test_a_connection_that_ends_is_opened_again
    certificate, key = %w[CERT KEY].map { |name| File.read(ENV.fetch("FAIRLOCK_TLS_#{name}")) }
    redis = Redis.new(port: PORT, ssl: true, timeout: 20, ssl_params: {
                        ca_file: ENV.fetch("FAIRLOCK_TLS_CA"),
                        cert: OpenSSL::X509::Certificate.new(certificate),
                        key: OpenSSL::PKey.read(key)
                      })
    outside = Redis.new(port: ENV.fetch("FAIRLOCK_PORT"))
    outside.call("LOCK", "busy", "other")
    thread = Thread.new { Fairlock.lock(redis, "busy", owner: "me", keep: 20).acquire }
    sleep 0.01 until outside.call("QUEUE", "busy").any?
    address = outside.call("QUEUE", "busy").first.each_slice(2).to_h["address"]
    assert_equal 1, outside.call("CLIENT", "KILL", "ADDR", address)
    outside.call("UNLOCK", "busy", "other")
    assert thread.value.release
  end
end
