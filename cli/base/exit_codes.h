// Exit statuses of fairlockctl; docs/FAIRLOCKCTL.md documents them for users.
#pragma once

namespace fairlock::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;              // the answer is no: not held, nothing found
inline constexpr int kExitWrongUse = 64;       // the command line, the environment or ctl.yaml
inline constexpr int kExitRefused = 65;        // the server answered with an error
inline constexpr int kExitUnreachable = 69;    // no connection, or no reply in time
inline constexpr int kExitNotUnderstood = 70;  // the peer does not speak RESP
inline constexpr int kExitNotWritten = 74;     // done, but standard output cannot be written
inline constexpr int kExitNotObtained = 75;    // the lock was denied, or a wait timed out
inline constexpr int kExitLost = 76;           // `run`: the lock was lost while the command ran
inline constexpr int kExitNotAllowed = 77;     // wrong password, or no permission
inline constexpr int kExitCannotRun =
    126;  // `run`: the command could not be run; the same code as in shells
inline constexpr int kExitNoCommand =
    127;  // `run`: there is no such command; the same code as in shells
inline constexpr int kExitSignal = 128;  // `run`: plus the number of the signal that ended it

}  // namespace fairlock::cli
