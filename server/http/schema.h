// Describes the JSON of answers, for the OpenAPI document.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fairlock::http {

enum class FieldType : std::uint8_t {
  kText,
  kInteger,
  kFlag,
  kObject,        // described by `schema`
  kObjects,       // an array of objects
  kIntegers,      // an array
  kTexts,         // an array
  kTextOrNumber,  // the value of an option: either type
};

struct Schema;

struct Field {
  std::string_view name;
  FieldType type = FieldType::kText;
  std::string_view description = {};
  bool is_nullable = false;
  bool is_optional = false;  // may be missing
  const Schema* of = nullptr;
};

struct Schema {
  std::string_view name;
  std::span<const Field> fields;
};

// Each is defined in schema.cc.
extern const Schema kErrorSchema;
extern const Schema kStatusSchema;
extern const Schema kClusterSchema;
extern const Schema kClientsSchema;
extern const Schema kSettingsSchema;
extern const Schema kAccessSchema;
extern const Schema kLocksSchema;
extern const Schema kLockSchema;
extern const Schema kLineSchema;
extern const Schema kHistorySchema;
extern const Schema kStatisticsSchema;
extern const Schema kMinutesSchema;
extern const Schema kLimitsSchema;
extern const Schema kBrokenSchema;
extern const Schema kBrokenMatchingSchema;
extern const Schema kCancelledSchema;
extern const Schema kLimitSetSchema;
extern const Schema kDeletedSchema;
extern const Schema kKilledSchema;
extern const Schema kChangedSchema;
extern const Schema kAcquiredSchema;
extern const Schema kRenewedSchema;
extern const Schema kReleasedSchema;
extern const Schema kHeldSchema;
extern const Schema kDescriptionSchema;

}  // namespace fairlock::http
