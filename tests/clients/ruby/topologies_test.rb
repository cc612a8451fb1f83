# The redis gem configured for Sentinel or Cluster: the plain client works, and the others fail with
# the errors that docs/recipes/moving-from-redis.md lists.

require "minitest/autorun"
require "redis"

class TopologiesTest < Minitest::Test
  PORT = ENV.fetch("FAIRLOCK_PORT").to_i
  PAGE = File.read(File.join(__dir__, "../../../docs/recipes/moving-from-redis.md"))

  def assert_on_page(error)
    assert_includes PAGE, error.message.split(", with args").first
  end

  def test_one_address
    redis = Redis.new(host: "127.0.0.1", port: PORT)
    assert redis.call("LOCK", "{order}:42", "rb", "PX", "30000")
    assert_equal 1, redis.call("UNLOCK", "{order}:42", "rb")
  end

  def test_with_sentinels
    sentinels = [{ host: "127.0.0.1", port: PORT }]
    error = assert_raises(Redis::CommandError) do
      Redis.new(url: "redis://mymaster", sentinels: sentinels, role: :master).ping
    end
    assert_on_page error
  end

  def test_with_a_cluster
    error = assert_raises(Redis::Cluster::InitialSetupError) do
      Redis.new(cluster: ["redis://127.0.0.1:#{PORT}"]).ping
    end
    assert_on_page error
  end
end
