# frozen_string_literal: true

require_relative "lib/fairlock/version"

Gem::Specification.new do |spec|
  spec.name = "fairlock"
  spec.version = Fairlock::VERSION
  spec.summary = "Fair locks with fencing tokens, from a fairlock server"
  spec.description = "A client of the lock server fairlock on the redis gem, with parts for " \
                     "ActiveJob, Sidekiq and caches."
  spec.authors = ["The fairlock authors"]
  spec.license = "BSD-3-Clause"
  spec.homepage = "https://github.com/fairlock/fairlock"
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir.chdir(__dir__) { Dir["LICENSE", "README.md", "lib/**/*.{rb,erb}"] }
  spec.add_dependency "redis", ">= 4.2", "< 7"
  spec.metadata["rubygems_mfa_required"] = "true"
end
