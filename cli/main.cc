// fairlockctl: reads the settings and runs one command.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "cli/base/result.h"
#include "cli/command_line.h"
#include "cli/connection/settings_file.h"
#include "cli/output/printable.h"
#include "cli/output/screen.h"

namespace {

using namespace fairlock::cli;  // NOLINT(google-build-using-namespace): the main() of fairlockctl

int Fail(const Failure& failure) {
  std::fflush(stdout);
  std::cerr << "fairlockctl: " << failure.text << '\n';
  return failure.exit_code;
}

Result<Settings> ReadSettings(const CommandLine& line) {
  const auto read_variable = [](const char* name) -> const char* { return std::getenv(name); };
  const bool is_named = line.settings_path.has_value();
  const Result<SettingSource> file = ReadSettingsFile(
      is_named ? *line.settings_path : DefaultSettingsPath(read_variable), is_named);
  if (!file) return file.failure();
  return MergeSettings(std::vector{*file, EnvironmentSource(read_variable), line.flags});
}

Result<int> Run(CommandLine line) {
  if (!line.text_to_show.empty()) {
    std::fwrite(line.text_to_show.data(), 1, line.text_to_show.size(), stdout);
    return kExitDone;
  }
  const Result<Settings> settings = ReadSettings(line);
  if (!settings) return settings.failure();
  const Result<Login> login = LoginOf(*settings);
  if (!login) return login.failure();
  const Charset charset = AdoptLocale();
  Context context{.settings = *settings,
                  .login = *login,
                  .client = Client(*settings, *login),
                  .out = DetectScreen(1, charset),
                  .errors = DetectScreen(2, charset),
                  .model = std::move(line.model),
                  .after_dashes = std::move(line.after_dashes)};
  return line.action(context);
}

// If a standard descriptor is closed, the connection would get its number, and messages would be
// sent to the server. A read-only descriptor keeps writes failing as they did when it was closed.
void OccupyStandardDescriptors() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) == -1) ::open("/dev/null", O_RDONLY);
  }
}

// Returns `status`, or a failure if the output could not be written.
int EndOfOutput(int status) {
  const bool is_whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_whole) return status;
  const int failed =
      Fail({kExitNotWritten,
            "cannot write to standard output: the command succeeded, but its output is lost"});
  return status == kExitDone ? failed : status;
}

}  // namespace

int main(int argc, char** argv) {
  OccupyStandardDescriptors();
  const std::span<const char* const> arguments(argv, static_cast<std::size_t>(argc));
  Result<CommandLine> line = ReadCommandLine(arguments.subspan(argc > 0 ? 1 : 0));
  if (!line) return Fail(line.failure());
  const Result<int> status = Run(std::move(*line));
  return status ? EndOfOutput(*status) : Fail(status.failure());
}
