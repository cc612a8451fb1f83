// Suppressions for the thread sanitizer. RocksDB is Debian's library, built without the sanitizer,
// so the sanitizer sees some of RocksDB's memory accesses, but not the fences and atomics between
// them. Compiled into every program that is built with that sanitizer, and into no others.

extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() { return "race:librocksdb.so\n"; }
