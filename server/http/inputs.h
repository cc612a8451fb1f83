// The values that a request gives to the parameters of its route.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/route.h"
#include "server/http/target.h"

namespace fairlock::http {

// Values are strings in the form that commands accept. Immutable after Read.
class Inputs {
 public:
  // Reads the path, the query, and the body of a POST, which is a JSON object.
  static Inputs Read(const Route& route, const Target& target, std::string_view body);

  // Says what is wrong and what is allowed; empty if there was no error.
  const std::string& error() const { return error_; }

  // Returns null if the parameter was not given.
  const std::string* Find(std::string_view name) const;
  std::string_view Text(std::string_view name, std::string_view otherwise = "") const;
  bool Flag(std::string_view name) const { return Text(name) == "true"; }
  std::int64_t Number(std::string_view name, std::int64_t otherwise) const;
  // Returns the parameter "db", of type kDatabase; 0 if it was not given.
  std::uint8_t Database() const { return static_cast<std::uint8_t>(Number("db", 0)); }
  // Whether the parameter "db", of type kDatabases, requests all databases.
  bool AreAllDatabases() const { return Text("db") == "*"; }

  // For each given parameter that has a `word`, appends the word and the value; for a flag, only
  // the word.
  void AppendOptions(std::vector<std::string_view>& arguments) const;

 private:
  explicit Inputs(const Route& route) : route_(route) {}

  void Take(std::string_view name, std::string value);
  void TakePath(const Target& target);
  void TakeBody(std::string_view body);
  void CheckRequired();
  void Fail(std::string error);
  const Parameter* FindParameter(std::string_view name) const;
  std::string KnownNames() const;

  const Route& route_;
  std::vector<std::pair<const Parameter*, std::string>> values_;
  std::string error_;
};

// Whether the path has the same segments as the route.
bool FitsPath(const Route& route, const Target& target);

}  // namespace fairlock::http
