// The contract of an object that only one thread may call.
#pragma once

#include <cassert>

namespace fairlock::contracts {

// The base of a class whose functions are called by one thread: by that of the loop or, in a test,
// by the one that plays its part. The first function that asserts it binds the object to its
// thread. Constructors and destructors do not assert it, because a test may build and destroy what
// another thread runs. 8 bytes, so what exists once per connection or lock is checked by its owner.
class LoopConfined {
 protected:
  void AssertInLoop() const { assert(thread_ == &mark_of_thread || BindsNow()); }

 private:
  // False: another thread has bound it.
  [[gnu::cold]] bool BindsNow() const {
    if (thread_ == nullptr) thread_ = &mark_of_thread;
    return thread_ == &mark_of_thread;
  }

  static inline thread_local char mark_of_thread = 0;

  mutable const char* thread_ = nullptr;  // null: not bound yet
};

}  // namespace fairlock::contracts
