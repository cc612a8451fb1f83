// The reply to INFO, parsed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/base/result.h"
#include "cli/connection/client.h"

namespace fairlock::cli {

class InfoReport {
 public:
  struct Field {
    std::string section;  // "Locks"
    std::string name;
    std::string value;
  };

  explicit InfoReport(std::string_view text);

  // Empty or 0 if there is no such field.
  std::string Text(std::string_view name) const;
  std::int64_t Number(std::string_view name) const;
  bool Has(std::string_view name) const { return by_name_.contains(name); }

  // In the order of the reply.
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

Result<InfoReport> FetchInfo(Client& client);

// 1536 as "1.5 KB".
std::string ShowBytes(std::int64_t bytes);

// 1234567 as "1,234,567".
std::string ShowCount(std::int64_t count);

}  // namespace fairlock::cli
