// Suppressions for the thread sanitizer: RocksDB is Debian's library, built without
// it, so the sanitizer sees memory accesses of RocksDB, but not the fences and
// atomics between them. Compiled into every program under that sanitizer, and only
// then.

extern "C" const char* __tsan_default_suppressions();

extern "C" const char* __tsan_default_suppressions() { return "race:librocksdb.so\n"; }
