// Buys with the generated TypeScript client, and reads what came of it.
import { Configuration, PurchasesApi, ReadingApi, ResponseError, TransactionFulfilledEventFromJSON } from "./client";

// Of node; its types are in a package of npm's.
declare const process: { argv: string[]; exit(code: number): never };
declare function require(name: "fs"): { existsSync(path: string): boolean; readFileSync(path: string, encoding: "utf8"): string };

const [intake, key, simulator, webhooks] = process.argv.slice(2);
const [app, account, productId] = ["com.example.game", "generated-typescript", "gems.100"];

function expect(what: string, isSo: boolean, found: unknown) {
    if (!isSo) {
        console.error(`buy.ts: ${what}:`, found);
        process.exit(1);
    }
    console.log(`buy.ts: ${what}`);
}

// The player buys, in the App Store that is played here.
async function sell(appAccountToken: string) {
    const answer = await fetch(`${simulator}/simulator/v1/sales`, {
        method: "POST", headers: { "content-type": "application/json" },
        body: JSON.stringify({ bundleId: app, productId, type: "Consumable", appAccountToken }),
    });
    return (await answer.json()).transactions[0];
}

async function webhook(transaction: string) {
    const fs = require("fs");
    const path = `${webhooks}/${transaction}.json`;
    for (let tries = 0; tries < 150 && !fs.existsSync(path); tries++) {
        await new Promise((wake) => setTimeout(wake, 200));
    }
    return TransactionFulfilledEventFromJSON(JSON.parse(fs.readFileSync(path, "utf8")));
}

async function main() {
    const configuration = new Configuration({ basePath: intake, accessToken: key });
    const [purchases, reading] = [new PurchasesApi(configuration), new ReadingApi(configuration)];
    const intent = await purchases.postIntent({ intentRequest: { app, account, productId } });
    const sale = await sell(intent.id);
    const settled = await purchases.postPurchase({
        wait: 25, purchaseRequest: { app, account, signedTransaction: sale.signedTransaction },
    });
    expect("the purchase is fulfilled, and may be finished", settled.state === "fulfilled" && settled.finish, settled);
    const orders = await reading.listOrders({ app, account });
    expect("its order is listed", orders.data.some((order) => order.transactionId === sale.transactionId), orders);
    const event = await webhook(sale.transactionId);
    expect("a webhook told of it", event.customer.id === account
        && event.data.entries.some((entry) => entry.item === "gem" && entry.amount === 100), event);
    const problem = await reading.getAccount({ id: account, app: "com.example.nobody" }).catch((error) => error);
    expect("a problem is read as one",
        problem instanceof ResponseError && (await problem.response.json()).code === "app-unknown", problem);
}

main().catch((error) => expect("no error", false, error));
