#include "server/http/target.h"

#include <algorithm>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>

namespace fairlock::http {

const std::string* Target::FindParameter(std::string_view name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [name](const auto& one) { return one.first == name; });
  return found == parameters.end() ? nullptr : &found->second;
}

std::optional<Target> ParseTarget(std::string_view target) {
  const auto parsed = boost::urls::parse_origin_form({target.data(), target.size()});
  if (!parsed) return std::nullopt;
  // In a query, browsers write a space as '+'; in a path they do not.
  boost::urls::encoding_opts as_form;
  as_form.space_as_plus = true;
  Target result;
  for (const auto segment : parsed->segments()) result.segments.emplace_back(segment);
  for (const auto parameter : parsed->params(as_form)) {
    result.parameters.emplace_back(parameter.key, parameter.value);
  }
  return result;
}

}  // namespace fairlock::http
