# frozen_string_literal: true

# The page "Locks" in Sidekiq's web interface, served by WEBrick: with_own_server.py --redis starts
# the servers.

require "minitest/autorun"
require "net/http"
require "rack"
require "webrick"

$LOAD_PATH.unshift(File.join(__dir__, "../lib"))
require "fairlock/sidekiq/web"

Sidekiq.logger.level = Logger::FATAL
# Silences the warnings that Sidekiq's own use of the gem causes.
Redis.silence_deprecations = true
Sidekiq.redis = { url: "redis://127.0.0.1:#{ENV.fetch('REDIS_PORT')}" }
Fairlock::Sidekiq.install(Redis.new(port: ENV.fetch("FAIRLOCK_PORT")))

class ImportWorker
  include Sidekiq::Worker

  sidekiq_options unique: :until_executed
end

class SidekiqWebTest < Minitest::Test
  def setup
    app = Rack::Builder.new do
      use Rack::Session::Cookie, secret: "s" * 64
      run Sidekiq::Web
    end
    silence = WEBrick::Log.new(nil, WEBrick::Log::FATAL)
    @web = WEBrick::HTTPServer.new(BindAddress: "127.0.0.1", Port: 0, Logger: silence,
                                   AccessLog: [])
    @web.mount("/", Rack::Handler::WEBrick, app)
    @thread = Thread.new { @web.start }
    @http = Net::HTTP.start("127.0.0.1", @web.config[:Port])
    Fairlock::Sidekiq.store.delete("*")
    2.times { |number| ImportWorker.perform_async("<#{number}>") }
  end

  def teardown
    @http.finish
    @web.shutdown
    @thread.join
    Sidekiq.redis(&:flushall)
  end

  def digests = Fairlock::Sidekiq.store.list("*").map(&:digest)

  def get(path)
    response = @http.get(path, { "Cookie" => @cookie.to_s })
    @cookie = response["Set-Cookie"]&.split(";")&.first || @cookie
    response
  end

  def post(path, **form)
    token = get("/locks").body[/name='authenticity_token' value='([^']+)'/, 1] ||
            flunk("no token")
    @http.post(path, URI.encode_www_form(authenticity_token: token, **form),
               { "Cookie" => @cookie })
  end

  def test_the_page_lists_digests_and_counts
    page = get("/locks").body
    digests.each { |digest| assert_includes page, digest }
    assert_match(%r{<td>until_executed</td>\s*<td>\d+</td>}, page)
    assert_includes get("/").body, ">Locks<"
    refute_includes get("/locks?pattern=nothing*").body, digests.first
  end

  def test_a_digest_has_a_page_that_escapes_its_metadata
    page = get("/lock?digest=#{CGI.escape(digests.first)}").body
    jids = Sidekiq::Queue.new("default").map(&:jid)
    assert(jids.any? { |jid| page.include?(jid) })
    assert_match(/&lt;[01]&gt;/, page)
    refute_match(/<[01]>/, page)
    assert_equal "302", get("/lock?digest=unknown").code
  end

  def test_one_is_deleted
    kept, deleted = digests
    assert_equal "302", post("/lock?digest=#{CGI.escape(deleted)}").code
    assert_equal [kept], digests
  end

  def test_all_that_match_are_deleted
    assert_equal "302", post("/locks", pattern: "unique:ImportWorker:*").code
    assert_empty digests
  end

  def test_only_a_post_with_the_token_of_the_page_changes_something
    assert_equal "403", @http.post("/locks", "pattern=*").code
    assert_equal "200", get("/locks?pattern=*&delete=1").code
    assert_equal 2, digests.size
  end
end
