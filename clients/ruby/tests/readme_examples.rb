# frozen_string_literal: true

# The examples of the README, which run as they are, except for addresses and the work that they do.
module ReadmeExamples
  README = File.join(__dir__, "../README.md")
  WORK = %i[charge deploy write fetch move report handle].freeze

  # The object that runs an example: its methods note what the work was given.
  class Runner
    attr_reader :done

    def initialize = @done = Queue.new
    WORK.each { |name| define_method(name) { |*what| done << what } }
    # Jobs do their work in instances of their own.
    def binding_of_example = binding
    def puts(*) = nil
  end

  module_function

  def all = File.read(README).scan(/```ruby\n(.*?)```/m).flatten

  # Returns what the work was given.
  def run(text, replacements)
    replacements.each do |before, after|
      raise "the example does not contain #{before}" unless text.include?(before)

      text = text.gsub(before, after)
    end
    runner = Runner.new
    runner.binding_of_example.eval(text, README)
    Array.new(runner.done.size) { runner.done.pop }
  end
end
