/* A PKCS#11 module for tests: SoftHSM, as a worse token would be. It looks into the folder that MODULE_FOLDER names:
 *
 *   calls    gets a line for each initialize, login, sign and finalize
 *   hang     while it is there, no signature returns
 *   final    the token says that one more wrong PIN locks it
 *   locked   the token says that its PIN is locked
 *   no-pss   RSA-PSS is not taken
 *
 * The types are those of PKCS#11 v2.40, as far as they are needed here.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef unsigned long number;
typedef number (*any_call)();

struct functions {
    unsigned char version[2];
    any_call calls[68];
};

enum { INITIALIZE = 0, FINALIZE = 1, LIST = 3, TOKEN_INFO = 6, LOGIN = 18, SIGN_INIT = 42, SIGN = 43 };

#define SHA256_RSA_PSS 0x43UL
#define MECHANISM_INVALID 0x70UL
#define FINAL_TRY 0x20000UL
#define LOCKED 0x40000UL
/* Label, manufacturer, model and serial number stand before them. */
#define FLAGS_AT 96

static struct functions *real;
static struct functions ours;

static void in_folder(const char *name, char *path, size_t size) {
    const char *folder = getenv("MODULE_FOLDER");
    snprintf(path, size, "%s/%s", folder ? folder : ".", name);
}

static int there_is(const char *name) {
    char path[512];
    in_folder(name, path, sizeof path);
    return access(path, F_OK) == 0;
}

static void note(const char *call) {
    char path[512];
    in_folder("calls", path, sizeof path);
    FILE *file = fopen(path, "a");
    if (file) {
        fprintf(file, "%s\n", call);
        fclose(file);
    }
}

static number initialize(void *arguments) {
    note("initialize");
    return real->calls[INITIALIZE](arguments);
}

static number finalize(void *reserved) {
    number done = real->calls[FINALIZE](reserved);
    note("finalize");
    return done;
}

static number token_info(number slot, unsigned char *info) {
    number done = real->calls[TOKEN_INFO](slot, info);
    number flags;
    memcpy(&flags, info + FLAGS_AT, sizeof flags);
    if (there_is("final")) flags |= FINAL_TRY;
    if (there_is("locked")) flags |= LOCKED;
    memcpy(info + FLAGS_AT, &flags, sizeof flags);
    return done;
}

static number login(number session, number user, unsigned char *pin, number length) {
    note("login");
    return real->calls[LOGIN](session, user, pin, length);
}

static number sign_init(number session, number *mechanism, number key) {
    if (*mechanism == SHA256_RSA_PSS && there_is("no-pss")) return MECHANISM_INVALID;
    return real->calls[SIGN_INIT](session, mechanism, key);
}

static number sign(number session, unsigned char *data, number size, unsigned char *signature, number *length) {
    note("sign");
    while (there_is("hang")) usleep(10000);
    return real->calls[SIGN](session, data, size, signature, length);
}

number C_GetFunctionList(struct functions **list) {
    if (!real) {
        void *library = dlopen("/usr/lib/softhsm/libsofthsm2.so", RTLD_NOW);
        any_call find = library ? (any_call)dlsym(library, "C_GetFunctionList") : NULL;
        if (!find || find(&real) != 0) return 5;
        ours = *real;
        ours.calls[INITIALIZE] = initialize;
        ours.calls[FINALIZE] = finalize;
        ours.calls[LIST] = (any_call)C_GetFunctionList;
        ours.calls[TOKEN_INFO] = token_info;
        ours.calls[LOGIN] = login;
        ours.calls[SIGN_INIT] = sign_init;
        ours.calls[SIGN] = sign;
    }
    *list = &ours;
    return 0;
}
