#include "cli/commands/fairlockd_program.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace fairlock::cli {

namespace {

constexpr const char* kProgram = "fairlockd";

// Returns the path of the fairlockd in this program's folder; empty if there is none.
std::string ProgramBeside() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::string path = (self.parent_path() / kProgram).string();
  return ::access(path.c_str(), X_OK) == 0 ? path : "";
}

// Returns the error number (errno), or 0.
int Spawn(const std::vector<std::string>& words, bool output_to_errors, pid_t& child) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (output_to_errors) posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  const int error =
      posix_spawnp(&child, pointers.front(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

}  // namespace

Result<int> RunFairlockd(const std::vector<std::string>& arguments, bool output_to_errors) {
  const std::string beside = ProgramBeside();
  std::vector<std::string> words = {beside.empty() ? kProgram : beside};
  words.insert(words.end(), arguments.begin(), arguments.end());
  pid_t child = 0;
  const int error = Spawn(words, output_to_errors, child);
  if (error != 0) {
    return Failure{kExitCannotRun, "cannot run fairlockd: " + std::string(std::strerror(error)) +
                                       "; it must be beside fairlockctl, or in PATH"};
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return kExitDone;
  return Failure{kExitRefused, "fairlockd failed; its output above says why"};
}

}  // namespace fairlock::cli
