# Runs a short burst of jobs on worker processes: shows that the SET NX mutex reorders jobs, and
# that a fairlock queue does not.

require "minitest/autorun"

require_relative "load"

class LoadTest < Minitest::Test
  BURST = { jobs: 80, conversations: 4, workers: 8, threads: 3, work_ms: 300, retry_s: 0.1,
            attempts: 8 }.freeze

  def run_burst(name)
    result = Load.new(**BURST).run(Load::MUTEXES.fetch(name))
    puts "#{name}: #{result.to_h}, #{result.requests} requests in all"
    assert_equal 0, result.overlaps, "two jobs of one conversation at once"
    assert_equal BURST[:jobs], result.done + result.gave_up
    result
  end

  def test_in_line_all_run_in_order_with_a_fraction_of_the_requests
    old = run_burst("redis")
    patient = run_burst("redis-uncapped")
    assert_operator old.violations + old.gave_up, :>, 0
    assert_operator old.gave_up, :>, 0
    assert_operator patient.violations, :>, 0
    # Changing only the address makes the job neither better nor worse.
    moved = run_burst("fairlock")
    assert_operator moved.violations + moved.gave_up, :>, 0
    # A job that waits requests the lock twice: once when it is enqueued and once when it runs.
    fair = run_burst("wait")
    assert_equal [BURST[:jobs], 0, 0], [fair.done, fair.violations, fair.gave_up]
    assert_equal 3 * BURST[:jobs], fair.lock_requests
    assert_operator fair.requests, :<=, patient.requests / 10
    kept = run_burst("keep")
    assert_equal [BURST[:jobs], 0, 0], [kept.done, kept.violations, kept.gave_up]
  end
end
