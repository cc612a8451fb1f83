#include "server/config/config_file.h"

#include <sys/stat.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <optional>
#include <set>
#include <sstream>

#include "server/command/table/text.h"
#include "server/config/config_options.h"
#include "text/file.h"

namespace fairlock::server {

namespace {

std::string At(const std::string& file, const YAML::Mark& mark) {
  return file + (mark.is_null() ? "" : ":" + std::to_string(mark.line + 1)) + ": ";
}

// Returns a scalar unchanged, or the items of a list joined by commas; nullopt for anything else.
std::optional<std::string> ValueText(const YAML::Node& value) {
  if (value.IsNull()) return "";
  if (value.IsScalar()) return value.Scalar();
  if (!value.IsSequence()) return std::nullopt;
  std::string joined;
  for (const YAML::Node& part : value) {
    if (!part.IsScalar()) return std::nullopt;
    joined += (joined.empty() ? "" : ", ") + part.Scalar();
  }
  return joined;
}

std::string ExplainUnknown(std::string_view name, const std::string& value) {
  std::string text =
      "unknown option " + command::Quoted(name) + " (value " + command::Quoted(value) + "); ";
  const std::string_view nearest = NearestOptionName(name);
  if (!nearest.empty()) {
    text.append("did you mean ").append(nearest).append("? ");
  }
  return text + "`fairlockd --help` lists all options";
}

// A value is also missing if it begins with # and is not quoted, because YAML reads it as a
// comment. A missing value must not be read as an empty string: otherwise `requirepass:` would turn
// the password off.
std::string ExplainMissing(const Option& option) {
  Config scratch;
  const bool may_be_empty = SetOption(option, "", scratch).empty();
  return std::string(option.name) + " has no value (text after \" #\" is a comment); it must be " +
         DescribeValues(option) + (may_be_empty ? ", \"\" for none" : "");
}

std::string SetFromNode(const std::string& name, const YAML::Node& value, Config& config) {
  const Option* option = FindOption(name);
  const auto text = ValueText(value);
  if (option == nullptr) return ExplainUnknown(name, text.value_or("..."));
  if (value.IsNull()) return ExplainMissing(*option);
  const bool fits = text && (!value.IsSequence() || IsList(*option));
  const std::string right = fits ? SetOption(*option, *text, config) : DescribeValues(*option);
  if (right.empty()) return "";
  return name + " must be " + right + ", got " + command::Quoted(text.value_or("a map"));
}

std::string ReadNode(const YAML::Node& root, const std::string& name, Config& config) {
  if (root.IsNull()) return "";  // nothing but comments
  if (!root.IsMap()) {
    return At(name, root.Mark()) + "must contain lines of the form `option: value`";
  }
  std::set<std::string> seen;
  for (const auto& entry : root) {
    const std::string place = At(name, entry.first.Mark());
    if (!entry.first.IsScalar()) return place + "must be the name of an option";
    const std::string& option = entry.first.Scalar();
    if (!seen.insert(option).second) {
      return place + option + " is given a second time; give each option once";
    }
    const std::string wrong = SetFromNode(option, entry.second, config);
    if (!wrong.empty()) return place + wrong;
  }
  return "";
}

// Records where the current document begins.
class DocumentBegin final : public YAML::EventHandler {
 public:
  const YAML::Mark& mark() const { return mark_; }

  void OnDocumentStart(const YAML::Mark& mark) override { mark_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark mark_;
};

// YAML::LoadAll never returns for some invalid texts, because it keeps finding further documents.
std::optional<YAML::Mark> FindSecondDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentBegin begin;
  const bool has_second = parser.HandleNextDocument(begin) && parser.HandleNextDocument(begin);
  return has_second ? std::optional(begin.mark()) : std::nullopt;
}

}  // namespace

std::string ReadConfigText(const std::string& text, const std::string& name, Config& config) {
  try {
    const std::optional<YAML::Mark> second = FindSecondDocument(text);
    if (second) {
      return At(name, *second) + "a second YAML document begins here (---); only one is allowed";
    }
    return ReadNode(YAML::Load(text), name, config);
  } catch (const YAML::Exception& error) {
    // The message may contain raw bytes of the file.
    constexpr std::size_t kShown = 200;
    return At(name, error.mark) + "not YAML: " + command::Escaped(error.msg, kShown);
  }
}

std::string ReadConfigFile(const std::string& path, Config& config) {
  const text::FileContent file = text::ReadFile(path);
  if (!file.is_read()) return path + ": must be a readable file: " + file.reason();
  if (std::string why = WhyUntrusted("", path); !why.empty()) return why;
  return ReadConfigText(file.bytes, path, config);
}

std::string WhyUntrusted(std::string_view what, const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return "";
  // Everybody may write to devices such as /dev/null, which does not change what they contain.
  if (S_ISCHR(file.st_mode) || (file.st_mode & S_IWOTH) == 0) return "";
  return std::string(what) + path +
         ": every user of this machine may write to it, so it is not read; use `chmod o-w`";
}

std::string CheckFiles(const Config& config) {
  for (const Option& option : AllOptions()) {
    if (option.type != OptionType::kFile) continue;
    std::string why = WhyUntrusted(std::string(option.name) + ": ", ShowOption(option, config));
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace fairlock::server
