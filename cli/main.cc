// fairlockctl: reads its settings, then does one command.
#include <cstdlib>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/exit_codes.h"
#include "cli/printable.h"
#include "cli/screen.h"
#include "cli/settings_file.h"

namespace {

using namespace fairlock::cli;  // NOLINT(google-build-using-namespace): this is its main

int Fail(const Failure& failure) {
  std::cout.flush();
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
    std::cout << line.text_to_show << std::flush;
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
                  .out = LookAtScreen(1, charset),
                  .errors = LookAtScreen(2, charset),
                  .model = std::move(line.model),
                  .behind_dashes = std::move(line.behind_dashes)};
  return line.action(context);
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<const char* const> arguments(argv, static_cast<std::size_t>(argc));
  Result<CommandLine> line = ReadCommandLine(arguments.subspan(argc > 0 ? 1 : 0));
  if (!line) return Fail(line.failure());
  const Result<int> status = Run(std::move(*line));
  return status ? *status : Fail(status.failure());
}
