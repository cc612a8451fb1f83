#include "cli/connection/settings_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/output/printable.h"
#include "text/file.h"

namespace fairlock::cli {

namespace {

using GivenByName = std::map<std::string, GivenSetting, std::less<>>;

Failure Wrong(const std::string& path, const YAML::Mark& mark, const std::string& what) {
  const std::string line = mark.is_null() ? "" : ":" + std::to_string(mark.line + 1);
  return {kExitWrongUse, path + line + ": " + what};
}

std::string ListOfNames() {
  std::string names;
  for (const SettingRow& row : AllSettings()) {
    names.append(names.empty() ? "" : ", ").append(row.name);
  }
  return names;
}

bool IsSetting(std::string_view name) {
  return std::ranges::any_of(AllSettings(), [&](const auto& row) { return row.name == name; });
}

Result<SettingSource> SourceOf(const YAML::Node& root, const std::string& path) {
  auto given = std::make_shared<GivenByName>();
  if (!root.IsNull() && !root.IsMap()) {
    return Wrong(path, root.Mark(), "must contain lines of the form `host: value`");
  }
  for (const auto& entry : root) {
    const std::string name = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const YAML::Mark mark = entry.first.Mark();
    if (!IsSetting(name)) {
      return Wrong(path, mark,
                   Quoted(name) + " is not a setting; the settings are " + ListOfNames());
    }
    if (!entry.second.IsScalar()) {
      return Wrong(path, mark, name + " must have one value after the colon");
    }
    const std::string origin = path + ":" + std::to_string(mark.line + 1) + ": " + name;
    (*given)[name] = {entry.second.Scalar(), origin};
  }
  return SettingSource([given](const SettingRow& row) -> std::optional<GivenSetting> {
    const auto found = given->find(row.name);
    if (found == given->end()) return std::nullopt;
    return found->second;
  });
}

Result<std::string> ReadWhole(const std::string& path) {
  text::FileContent file = text::ReadFile(path);
  if (file.error == EISDIR) {
    return Failure{kExitWrongUse, path + ": must be a readable file, not a directory"};
  }
  if (!file.is_read()) {
    return Failure{kExitWrongUse, path + ": must be a readable file: " + file.reason()};
  }
  return std::move(file.bytes);
}

SettingSource EmptySource() {
  return [](const SettingRow&) { return std::optional<GivenSetting>(); };
}

}  // namespace

Result<SettingSource> ReadSettingsText(const std::string& text, const std::string& path) {
  try {
    return SourceOf(YAML::Load(text), path);
  } catch (const YAML::Exception& error) {
    return Wrong(path, error.mark, "must be YAML: " + error.msg);
  }
}

Result<SettingSource> ReadSettingsFile(const std::string& path, bool must_exist) {
  std::error_code ignored;
  if (!must_exist && (path.empty() || !std::filesystem::exists(path, ignored))) {
    return EmptySource();
  }
  const Result<std::string> text = ReadWhole(path);
  if (!text) return text.failure();
  return ReadSettingsText(*text, path);
}

std::string DefaultSettingsPath(const std::function<const char*(const char* name)>& read_variable) {
  const auto read = [&](const char* name) {
    const char* const value = read_variable(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string folder = read("XDG_CONFIG_HOME");
  if (!folder.empty()) return folder + "/fairlock/ctl.yaml";
  const std::string home = read("HOME");
  return home.empty() ? "" : home + "/.config/fairlock/ctl.yaml";
}

Result<std::string> ReadPasswordFile(const std::string& path) {
  Result<std::string> text = ReadWhole(path);
  if (!text) return text.failure();
  std::string line = text->substr(0, text->find('\n'));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) {
    return Failure{kExitWrongUse,
                   path + ": must contain the password on its first line, which is empty"};
  }
  return line;
}

}  // namespace fairlock::cli
