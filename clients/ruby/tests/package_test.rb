# frozen_string_literal: true

# The gem as it is shipped, and the style of its sources.

require "minitest/autorun"
require "fileutils"
require "open3"
require "tmpdir"

class PackageTest < Minitest::Test
  ROOT = File.expand_path("..", __dir__)

  def run_program(*words, **options)
    output, status = Open3.capture2e(*words, **options)
    assert status.success?, output
    output
  end

  # Installs the gem into a folder, and uses it as an application does that knows nothing else.
  def test_the_gem_is_built_installed_and_used
    Dir.mktmpdir do |folder|
      copy = File.join(folder, "copy")
      FileUtils.cp_r(ROOT, copy)
      built = run_program("gem", "build", "--strict", "fairlock.gemspec", chdir: copy)
      refute_match(/warning/i, built)
      package = Dir[File.join(copy, "*.gem")].fetch(0)
      run_program("gem", "install", "--local", "--ignore-dependencies", "--no-document",
                  "--install-dir", "#{folder}/gems", package)
      assert_equal files_of(ROOT), files_of(Dir["#{folder}/gems/gems/fairlock-*"].fetch(0))
      output = run_program({ "GEM_PATH" => "#{folder}/gems:#{Gem.path.join(':')}" }, "ruby", "-w",
                           "-e", <<~RUBY, chdir: folder)
                             gem "fairlock"
                             require "fairlock/active_job"
                             require "fairlock/sidekiq/web"
                             redis = Redis.new(port: #{ENV.fetch('FAIRLOCK_PORT')})
                             puts Fairlock.lock(redis, "k") { |hold| hold.keys }
                             hold = Fairlock.lock(redis, "k").acquire
                             waiter = Thread.new { Fairlock.lock(redis, "k", wait: 60).acquire }
                             sleep 0.01 until redis.call("QUEUE", "k").any?
                             puts hold.release, waiter.value.release, redis.call("LOCKED", "k")
                             puts $LOADED_FEATURES.grep(/fairlock.rb/)
                           RUBY
      assert_match(/\A(.*warning.*\n)*k\ntrue\ntrue\n0\n#{folder}/, output)
    end
  end

  def files_of(folder)
    paths = ["LICENSE", "README.md", "lib/**/*"]
    Dir.chdir(folder) { Dir[*paths].select { |path| File.file?(path) }.sort }
  end

  def test_rubocop
    output = run_program("rubocop", "--cache", "false", "--format", "emacs", chdir: ROOT)
    assert_empty output.lines.grep(/: [CWEF]: /)
  end
end
