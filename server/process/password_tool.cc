#include "server/process/password_tool.h"

#include <termios.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "server/access/slow_hash.h"

namespace fairlock::server {

namespace {

// Turns off the terminal's echo during its lifetime.
class HiddenInput {
 public:
  HiddenInput() : is_terminal_(tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!is_terminal_) return;
    termios hidden = before_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden);
    std::cerr << "Password: " << std::flush;
  }
  HiddenInput(const HiddenInput&) = delete;
  HiddenInput& operator=(const HiddenInput&) = delete;
  ~HiddenInput() {
    if (!is_terminal_) return;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    std::cerr << '\n';
  }

 private:
  termios before_{};
  const bool is_terminal_;
};

}  // namespace

bool PrintPasswordHash() {
  std::string password;
  {
    const HiddenInput hidden;
    std::getline(std::cin, password);
  }
  const std::string hash = password.empty() ? "" : access::MakeSlowHash(password);
  if (hash.empty()) {
    std::cerr << "fairlockd: standard input must be a line with a password of 1 to "
              << access::kSlowPasswordBytesMax << " bytes\n";
    return false;
  }
  std::cout << hash << '\n';
  return true;
}

}  // namespace fairlock::server
