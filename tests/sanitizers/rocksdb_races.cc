// What the thread sanitizer must not report: RocksDB is Debian's library, built without it, so it
// sees their memory used and not the fences and atomics between.
//
// Compiled into every program under that sanitizer, and only then.

extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() { return "race:librocksdb.so\n"; }
