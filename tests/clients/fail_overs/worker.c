/* Takes and releases locks with hiredis, as worker.md describes. hiredis knows no Sentinel, so this
   worker is always plain. */
#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kKeysMax = 32 };

static redisContext *context;

static long long Microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void Connect(void) {
  char host[64];
  snprintf(host, sizeof host, "%s", getenv("NODE"));
  char *colon = strrchr(host, ':');
  *colon = 0;
  context = redisConnect(host, atoi(colon + 1));
}

static redisReply *TryOnce(int count, const char **words) {
  if (context == NULL) {
    Connect();
  } else if (context->err != 0) {
    redisReconnect(context);
  }
  if (context == NULL || context->err != 0) {
    return NULL;
  }
  return redisCommandArgv(context, count, words, NULL);
}

/* Repeats the request until it is answered; returns the integer, or -1 for nil. */
static long long Ask(const char **words) {
  int count = 0;
  while (words[count] != NULL) {
    count++;
  }
  for (;;) {
    printf("{\"op\":\"%s\",\"key\":\"%s\",\"begun\":%lld,", words[0], words[1], Microseconds());
    redisReply *reply = TryOnce(count, words);
    printf("\"ended\":%lld,", Microseconds());
    if (reply != NULL && reply->type == REDIS_REPLY_INTEGER) {
      printf("\"reply\":%lld}\n", reply->integer);
    } else if (reply != NULL && reply->type == REDIS_REPLY_NIL) {
      printf("\"reply\":null}\n");
    } else {
      const char *error = context == NULL ? "no memory" : context->errstr;
      printf("\"error\":\"%s\"}\n", reply != NULL ? reply->str : error);
    }
    fflush(stdout);
    int is_answered = reply != NULL && reply->type != REDIS_REPLY_ERROR;
    long long value = is_answered && reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
    freeReplyObject(reply);
    if (is_answered) {
      return value;
    }
    usleep(10000);
  }
}

static void Round(const char *key, const char *owner) {
  long long token =
      Ask((const char *[]){"LOCK", key, owner, "PX", "30000", "WAIT", "200ms", NULL});
  if (token < 0) {
    return;
  }
  usleep(5000);
  char text[24];
  snprintf(text, sizeof text, "%lld", token);
  Ask((const char *[]){"CHECK", key, text, NULL});
  Ask((const char *[]){"UNLOCK", key, owner, NULL});
}

int main(void) {
  const char *owner = getenv("OWNER");
  char *keys[kKeysMax];
  int count = 0;
  for (char *key = strtok(strdup(getenv("KEYS")), ","); key != NULL && count < kKeysMax;
       key = strtok(NULL, ",")) {
    keys[count++] = key;
  }
  char held_key[128];
  char held[24];
  snprintf(held_key, sizeof held_key, "%s:held", owner);
  snprintf(held, sizeof held, "%lld",
           Ask((const char *[]){"LOCK", held_key, owner, "PX", "600000", NULL}));
  struct pollfd input = {.fd = 0, .events = POLLIN};
  for (int turn = 0; poll(&input, 1, 20) == 0; turn++) {
    Round(keys[turn % count], owner);
    Ask((const char *[]){"RENEW", held_key, owner, "PX", "600000", "TOKEN", held, NULL});
  }
  return 0;
}
