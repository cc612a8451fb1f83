// What `fairlockd --hash-password` does.
#pragma once

namespace fairlock::server {

// Reads a line from standard input, which is not shown on a terminal, and prints its slow hash.
// False: the error is printed.
bool PrintPasswordHash();

}  // namespace fairlock::server
