/* The host's two functions as the JavaScript module "bakeoff". */
#include "../c/bakeoff.h"
#include "quickjs.h"

static JSValue js_startup(JSContext *context, JSValueConst this, int count, JSValueConst *values) {
    (void)context, (void)this, (void)count, (void)values;
    startup();
    return JS_UNDEFINED;
}

static JSValue js_finish(JSContext *context, JSValueConst this, int count, JSValueConst *values) {
    (void)context, (void)this, (void)count, (void)values;
    finish();
    return JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
    JS_CFUNC_DEF("startup", 0, js_startup),
    JS_CFUNC_DEF("finish", 0, js_finish),
};

static int fill(JSContext *context, JSModuleDef *module) {
    return JS_SetModuleExportList(context, module, functions, 2);
}

JSModuleDef *js_init_module_bakeoff(JSContext *context, const char *name) {
    JSModuleDef *module = JS_NewCModule(context, name, fill);
    if (module != NULL) {
        JS_AddModuleExportList(context, module, functions, 2);
    }
    return module;
}
