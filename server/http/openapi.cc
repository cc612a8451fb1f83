#include "server/http/openapi.h"

#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string_view>
#include <utility>

#include "json/reply_json.h"
#include "server/http/schema.h"

namespace fairlock::http {

namespace {

using boost::json::array;
using boost::json::object;

struct Refused {
  std::string_view status;
  std::string_view description;
  bool (*applies)(const Route& route);
};

bool IsPost(const Route& route) { return route.verb == Verb::kPost; }
bool IsOfCommands(const Route& route) { return route.path.starts_with("/api/"); }

constexpr auto kRefused = std::to_array<Refused>({
    {"400", "A parameter is wrong, missing or unknown",
     [](const Route& route) { return IsOfCommands(route); }},
    {"401", "The token, or user and password, are missing or wrong",
     [](const Route& route) { return route.access != Access::kOpen; }},
    {"403",
     "The request comes from a page on another origin, or the user may not do this, or nobody may",
     [](const Route&) { return true; }},
    {"413", "The body is larger than 64 KB", IsPost},
    {"415", "The body is not JSON", IsPost},
    {"421", "The server does not accept this host name", [](const Route&) { return true; }},
    {"426", "The Upgrade: websocket header is missing",
     [](const Route& route) { return route.is_web_socket; }},
    {"429", "Too many log-ins from this address have failed or are in progress",
     [](const Route& route) { return route.access != Access::kOpen; }},
    {"503",
     "The server cannot do this now: it is loading its data, does not lead its fleet, or a limit "
     "has been reached",
     [](const Route& route) { return route.needs_locks; }},
});

object ReferenceTo(std::string_view schema) {
  return {{"$ref", "#/components/schemas/" + std::string(schema)}};
}

object TypeOf(ValueType type) {
  switch (type) {
    case ValueType::kNumber:
      return {{"type", "integer"}};
    case ValueType::kDuration:
      return {{"type", array{"string", "integer"}}, {"examples", array{"10s", "5m", 250}}};
    case ValueType::kDatabase:
      return {{"type", "integer"}, {"minimum", 0}, {"maximum", 15}};
    case ValueType::kDatabases:
      return {{"type", array{"string", "integer"}}, {"examples", array{0, 15, "*"}}};
    case ValueType::kFlag:
      return {{"type", "boolean"}};
    case ValueType::kText:
      break;
  }
  return {{"type", "string"}};
}

bool IsInPath(const Route& route, const Parameter& parameter) {
  return route.path.find("{" + std::string(parameter.name) + "}") != std::string_view::npos;
}

array ParametersOf(const Route& route) {
  array parameters;
  for (const Parameter& parameter : route.parameters) {
    const bool is_in_path = IsInPath(route, parameter);
    if (IsPost(route) && !is_in_path) continue;
    parameters.push_back(object{{"name", parameter.name},
                                {"in", is_in_path ? "path" : "query"},
                                {"required", parameter.is_required},
                                {"description", parameter.description},
                                {"schema", TypeOf(parameter.type)}});
  }
  return parameters;
}

// No text field is required, because it may be given as ..._base64 instead.
object BodyOf(const Route& route) {
  object properties;
  array required;
  for (const Parameter& parameter : route.parameters) {
    object type = TypeOf(parameter.type);
    type["description"] = parameter.description;
    properties[parameter.name] = std::move(type);
    if (parameter.type == ValueType::kText) {
      properties[std::string(parameter.name) + "_base64"] =
          object{{"type", "string"},
                 {"contentEncoding", "base64"},
                 {"description", "The same, for arbitrary bytes"}};
    } else if (parameter.is_required) {
      required.push_back(boost::json::value(parameter.name));
    }
  }
  object schema{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["additionalProperties"] = false;
  return {{"required", true}, {"content", {{"application/json", {{"schema", std::move(schema)}}}}}};
}

object TextContent() { return {{"text/plain", {{"schema", {{"type", "string"}}}}}}; }

object AnswersOf(const Route& route) {
  object done{{"description", "Done"}};
  if (route.is_web_socket) {
    done["description"] = "The connection is now a WebSocket; messages follow";
  } else if (route.answer == nullptr) {
    done["content"] = TextContent();
  } else {
    done["content"] = {{"application/json", {{"schema", ReferenceTo(route.answer->name)}}}};
  }
  object answers{{route.is_web_socket ? "101" : "200", std::move(done)}};
  for (const Refused& row : kRefused) {
    if (!row.applies(route)) continue;
    answers[row.status] = {
        {"description", row.description},
        {"content", {{"application/json", {{"schema", ReferenceTo(kErrorSchema.name)}}}}}};
  }
  if (route.key_prefix != nullptr) {
    answers["409"] = {{"description", "Not granted or not held: what stands there, or an error"},
                      {"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}};
  }
  if (!route.plain_503.empty()) {
    answers["503"] = {{"description", route.plain_503}, {"content", TextContent()}};
  }
  return answers;
}

object OperationOf(const Route& route) {
  object operation{
      {"operationId", route.name}, {"summary", route.summary}, {"parameters", ParametersOf(route)}};
  if (IsPost(route)) operation["requestBody"] = BodyOf(route);
  operation["responses"] = AnswersOf(route);
  if (route.access == Access::kOpen) operation["security"] = array();
  if (route.access == Access::kRead) {
    operation["security"] = array{object(), object{{"token", array()}}, object{{"user", array()}}};
  }
  return operation;
}

object OrNull(object type) {
  object null{{"type", "null"}};
  if (type.contains("$ref")) return {{"anyOf", array{std::move(type), std::move(null)}}};
  type["type"] = array{type["type"], "null"};
  return type;
}

void AddSchema(object& schemas, const Schema& schema);

object TypeOf(const Field& field, object& schemas) {
  if (field.of != nullptr) AddSchema(schemas, *field.of);
  switch (field.type) {
    case FieldType::kText:
      return {{"type", "string"}};
    case FieldType::kInteger:
      return {{"type", "integer"}};
    case FieldType::kFlag:
      return {{"type", "boolean"}};
    case FieldType::kIntegers:
      return {{"type", "array"}, {"items", {{"type", "integer"}}}};
    case FieldType::kTexts:
      return {{"type", "array"}, {"items", {{"type", "string"}}}};
    case FieldType::kObject:
      return ReferenceTo(field.of->name);
    case FieldType::kObjects:
      return {{"type", "array"}, {"items", ReferenceTo(field.of->name)}};
    case FieldType::kTextOrNumber:
      break;
  }
  return {{"type", array{"string", "integer"}}};
}

void AddSchema(object& schemas, const Schema& schema) {
  if (schemas.contains(schema.name)) return;
  schemas[schema.name] = nullptr;  // puts it before the schemas that its fields add
  object properties;
  array required;
  for (const Field& field : schema.fields) {
    object type = TypeOf(field, schemas);
    if (field.is_nullable) type = OrNull(std::move(type));
    if (!field.description.empty()) type["description"] = field.description;
    properties[field.name] = std::move(type);
    if (!field.is_optional) required.push_back(boost::json::value(field.name));
  }
  object written{{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) written["required"] = std::move(required);
  // Later versions may add fields (but never remove any), and a value that is not UTF-8 has an
  // additional field ..._base64.
  written["additionalProperties"] = true;
  schemas[schema.name] = std::move(written);
}

}  // namespace

std::string Describe(std::span<const Route* const> routes, std::string_view version) {
  object paths;
  object schemas;
  AddSchema(schemas, kErrorSchema);
  for (const Route* route : routes) {
    // OpenAPI 3.1 knows only some methods.
    if (route->verb != Verb::kGet && !IsPost(*route)) continue;
    if (route->answer != nullptr) AddSchema(schemas, *route->answer);
    object& path = paths.emplace(route->path, object()).first->value().as_object();
    path[IsPost(*route) ? "post" : "get"] = OperationOf(*route);
  }
  return json::Written(object{
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "fairlock"},
        {"version", version},
        {"license", {{"name", "BSD-3-Clause"}, {"identifier", "BSD-3-Clause"}}},
        {"description",
         "Inspects and controls a lock server. In a fleet of several partitions, "
         "/api/v1/partitions/N/locks is /api/v1/locks of partition N, and so on for every path "
         "below /api/v1 but the WebSocket; the server asks the leader of that partition."}}},
      {"servers", array{object{{"url", "/"}}}},
      {"security", array{object{{"token", array()}}, object{{"user", array()}}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", std::move(schemas)},
        {"securitySchemes",
         {{"token", {{"type", "http"}, {"scheme", "bearer"}}},
          {"user", {{"type", "http"}, {"scheme", "basic"}}}}}}},
  });
}

}  // namespace fairlock::http
