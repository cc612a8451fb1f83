#include "tests/scenarios/server_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "tests/doubles/free_port.h"

namespace fairlock::scenarios {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kPatience{20'000};
constexpr milliseconds kPause{5};
constexpr int kStartsMax = 5;

}  // namespace

ServerProcess::ServerProcess(const std::string& program, const std::vector<ServerOption>& options)
    : program_(std::filesystem::absolute(program).string()), options_(options) {}

ServerProcess::~ServerProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

std::string ServerProcess::Start() {
  std::string made = (std::filesystem::temp_directory_path() / "fairlock-XXXXXX").string();
  if (mkdtemp(made.data()) == nullptr) return "no temporary directory";
  directory_ = std::move(made);
  // Retries, because another process may take the free port first.
  std::string wrong;
  for (int start = 0; start < kStartsMax; ++start) {
    wrong = StartOnFreePort();
    if (wrong.empty()) break;
  }
  return wrong;
}

std::string ServerProcess::StartOnFreePort() {
  address_ = {.host = "127.0.0.1", .port = tests::FreePort()};
  const pid_t parent = getpid();
  pid_ = fork();
  assert(pid_ >= 0);
  if (pid_ == 0) Become(parent);
  const auto give_up = steady_clock::now() + kPatience;
  while (steady_clock::now() < give_up) {
    if (const auto status = FindExit()) return Describe(*status);
    if (Connection().Open(address_).empty()) return {};
    std::this_thread::sleep_for(kPause);
  }
  return program_ + " does not accept connections; it wrote: " + Output();
}

void ServerProcess::Become(pid_t parent) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int output = open((directory_ + "/output").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (output < 0 || getppid() != parent || chdir(directory_.c_str()) != 0) _exit(126);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  std::vector<std::string> words = {
      program_,      "--bind", address_.host,  "--port", std::to_string(address_.port),
      "--http-port", "0",      "--durability", "none"};
  for (const ServerOption& option : options_) {
    words.push_back("--" + option.name);
    words.push_back(option.value);
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(program_.c_str(), arguments.data());
  _exit(127);
}

std::optional<int> ServerProcess::FindExit() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = 0;
  return status;
}

std::string ServerProcess::Stop() {
  // If it has already ended by itself, that is not a clean stop either.
  if (const auto status = FindExit()) return Describe(*status);
  kill(pid_, SIGTERM);
  const auto give_up = steady_clock::now() + kPatience;
  while (steady_clock::now() < give_up) {
    if (const auto status = FindExit()) return *status == 0 ? "" : Describe(*status);
    std::this_thread::sleep_for(kPause);
  }
  return program_ + " does not end on SIGTERM; it wrote: " + Output();
}

std::string ServerProcess::Describe(int status) const {
  const std::string end = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                              : "exit code " + std::to_string(WEXITSTATUS(status));
  return program_ + " ended with " + end + "; it wrote: " + Output();
}

std::string ServerProcess::Output() const {
  std::ostringstream output;
  output << std::ifstream(directory_ + "/output").rdbuf();
  return output.str();
}

}  // namespace fairlock::scenarios
